"""Many rows, a model file, and JSON: the answer is the same wherever it is computed.

Run it with `python examples/02_batch_and_json.py`; it writes model.daace and answers.jsonl.
"""

from pathlib import Path

import daace


def main() -> None:
    table = daace.load_table("iris")
    daace.fit(table).save("model.daace")  # names, settings and parameters, but no training row

    explainer = daace.load("model.daace")
    flowers = table.to_frame().query("`class` == 'setosa'")
    many = explainer.explain_batch(flowers, target="virginica", n_jobs=2, progress=True)
    print(many)
    print(many.to_frame().drop(columns=["found", "current"]).head())

    # One explanation per line; each holds its settings, seed and version.
    lines = [e.to_json(indent=None) for e in many]
    Path("answers.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")

    back = [
        daace.Explanation.from_json(line)
        for line in Path("answers.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert all(a.path.equals(b.path) for a, b in zip(many, back, strict=True))
    print(f"\nread back from answers.jsonl, exact to the last bit: {len(back)}")
    print(back[0])


if __name__ == "__main__":  # parallel workers import this file
    main()
