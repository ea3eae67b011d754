"""Speculative decoding: cheap guesses of the next tokens, which the model verifies in one pass.

The model's own choice at each position is a pure function of its logits, the request's seed and
the position (``engine.sampling``). A drafted token is accepted exactly when it is that choice, so
that the answer is the one that decoding token by token gives, greedy or sampled: for a drafter
without a will of its own (a copied n-gram, or a draft model's draw with the same random number)
this accepts token x with the probability p(x), as the rule of Leviathan et al. (arXiv 2211.17192)
does for a deterministic draft.
"""
