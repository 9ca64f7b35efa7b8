"""Holds the booster to XGBoost on the same rows.

    python3 -m venv target/xgboost && target/xgboost/bin/pip install xgboost
    DIETCODE_MODEL_ROWS=target/rows.jsonl cargo bench -p dietcode-core --features tuner --bench model
    target/xgboost/bin/python benches/xgboost_rows.py target/rows.jsonl

Trains XGBoost with the objective of PackSum and the parameters of `Growing::default`, and prints a-peak@32 and pairwise accuracy of
both on the programs that neither was trained on. Exit status 1 if one differs by more than 0.02.
"""

import json
import sys

import numpy
import xgboost

TOLERANCE = 0.02


def scores_of(programs, margins):
    ends = numpy.cumsum([len(program["rows"]) for program in programs])
    return numpy.array([part.sum() for part in numpy.split(margins, ends[:-1])])


def matrix(programs):
    return xgboost.DMatrix(numpy.concatenate([numpy.array(program["rows"], dtype="float32") for program in programs]))


def a_peak(scores, labels, n):
    order = sorted(range(len(scores)), key=lambda at: (-scores[at], -at))[:n]
    return numpy.mean(numpy.maximum.accumulate(labels[order]) / labels.max())


def pairwise_accuracy(scores, labels):
    upper = numpy.triu_indices(len(labels), 1)
    label = numpy.sign(labels[:, None] - labels[None, :])[upper]
    score = numpy.sign(scores[:, None] - scores[None, :])[upper]
    counted = label != 0
    return numpy.where(score == 0, 0.5, score == label)[counted].mean()


def main(path):
    with open(path, encoding="utf-8") as lines:
        programs = [json.loads(line) for line in lines]
    trained = [program for program in programs if program["trained"]]
    tested = [program for program in programs if not program["trained"]]
    labels = numpy.array([program["label"] for program in trained])
    counts = [len(program["rows"]) for program in trained]

    def objective(margins, _):
        error = (scores_of(trained, margins) - labels) * labels
        return numpy.repeat(error, counts), numpy.repeat(labels, counts)

    parameters = {
        "max_depth": 6,
        "eta": 0.2,
        "lambda": 1.0,
        "min_child_weight": 0.05,
        "max_bin": 64,
        "tree_method": "hist",
        "base_score": 0.0,
        "nthread": 1,
        "seed": 0,
    }
    booster = xgboost.train(parameters, matrix(trained), num_boost_round=60, obj=objective)
    expected = numpy.array([program["label"] for program in tested])
    theirs = scores_of(tested, booster.predict(matrix(tested), output_margin=True))
    ours = numpy.array([program["score"] for program in tested])
    status = 0
    for name, measure in [("a-peak@32", lambda scores: a_peak(scores, expected, 32)),
                          ("pairwise accuracy", lambda scores: pairwise_accuracy(scores, expected))]:
        own, other = measure(ours), measure(theirs)
        print(f"{name:18} {own:.4f} here, {other:.4f} xgboost {xgboost.__version__}")
        if abs(own - other) > TOLERANCE:
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
