from app.experiments import chunks
from app.experiments.trials import Seen


def test_the_last_size_takes_the_whole_prompt(subject):
    trials = chunks.plan(subject)
    sizes = [int(trial.x) for trial in trials]
    assert sizes == sorted(set(sizes))
    arguments = trials[-1].arguments
    prompt = int(arguments[arguments.index("--prompt-tokens") + 1])
    assert sizes[-1] > prompt


def test_the_longest_gap_is_what_the_running_answer_feels(subject):
    readings = ()
    for trial, stall in zip(chunks.plan(subject), (30, 90, 300, 900), strict=True):
        printed = {
            "chunks": {
                "stream_beside_itl_ms": {"p50": 9, "max": stall},
                "stream_alone_itl_ms": {"p50": 8},
                "prompt_ttft_ms": 1_000,
            }
        }
        readings += chunks.read(subject, trial, Seen(printed=printed))
    found = chunks.findings(readings)
    assert (found["small_stall_ms"], found["large_stall_ms"]) == (30, 900)
    assert chunks.read(subject, chunks.plan(subject)[0], Seen(printed={"chunks": None})) == ()
