"""Speculative decoding: cheap guesses of the next tokens, which the model verifies in one pass.

The model's own choice at each position is a pure function of its logits, the request's seed and
the position (``engine.sampling``). A drafted token is accepted exactly when it is that choice, so
that the answer is the one that decoding token by token gives, greedy or sampled: for a drafter
without a will of its own (a copied n-gram, or a draft model's draw with the same random number)
this accepts token x with the probability p(x), as the rule of Leviathan et al. (arXiv 2211.17192)
does for a deterministic draft.

What is chosen follows from the logits, so all this is as exact as these are. The native core gives
up to 32 tokens of a request the very numbers that each would get alone, in any batch and every kind
of cache: an answer with guesses is then the same token by token. torch's kernels (without the
native core, and on a GPU) round differently with the shape of a batch, and so do both for longer
pieces of a prompt: a prompt read in other pieces, from the cache or after a preemption, may tip a
near tie the other way. That is true with and without guesses, which add no error of their own.

Guesses are chains. Trees, which also verify second choices, were tried on greedy answers of
SmolLM2 135M (``tests/perf/draft_trees.py``, 128 tokens each, costs of rows as measured on two AVX-512
cores: 15 % of a step for one more, 120 % for eight). Speed over plain decoding of the best chain
and the best tree of up to twelve nodes::

    guesses of                  chat            repetitive      code
    n-grams                     1.065  1.064    1.538  1.538    1.319  1.307
    a model of 80 % of layers   1.089  1.090    1.242  1.177    1.348  1.310

With eight nodes each, trees of a draft model give 6 to 14 % more tokens a step, but so many rows
cost more than they bring; of n-grams they give none.
"""
