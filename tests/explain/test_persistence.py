from __future__ import annotations

import json
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from daace import (
    Constraints,
    GaussianMixture,
    KernelDensity,
    LinearGaussianNetwork,
    PathOptimizer,
    Table,
    load_table,
)
from daace.exceptions import DaaceError, InvalidInput, ModelFileError, PrivacyError
from daace.explain import persistence
from daace.explain.explainer import Explainer
from daace.explain.loading import load

META, ARRAYS = "meta.json", "arrays.safetensors"


@pytest.fixture(scope="module")
def small():
    return LinearGaussianNetwork(max_parents=2).fit(load_table("iris"))


@pytest.fixture
def model(small, tmp_path):
    path = tmp_path / "model.daace"
    Explainer(small).save(path)
    return path


def members(path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rezip(path, parts, compression=zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def change_meta(path, **changes) -> None:
    parts = members(path)
    meta = {**json.loads(parts[META]), **changes}
    rezip(path, {**parts, META: json.dumps(meta).encode()})


def change_arrays(path, **changes) -> None:
    """Set arrays by name ('__' for '.'); None drops one."""
    parts = members(path)
    arrays = dict(load_tensors(parts[ARRAYS]))
    for name, value in changes.items():
        name = name.replace("__", ".")
        arrays[name] = value(arrays[name]) if callable(value) else value
    kept = {name: array for name, array in arrays.items() if array is not None}
    rezip(path, {**parts, ARRAYS: save_tensors(kept)})


def refused(path) -> str:
    """Return the one sentence with which a file is refused."""
    with pytest.raises(ModelFileError) as error:
        load(path)
    message = str(error.value)
    assert "\n" not in message
    assert message.endswith(".")
    assert str(path) in message
    return message


# Round trip ---------------------------------------------------------------------------------------


def test_a_loaded_explainer_gives_the_same_bits(explainer, explanation, malignant, tmp_path):
    path = tmp_path / "model.daace"
    explainer.save(path)
    again = load(path)
    X = explainer.density.to_model(malignant)
    assert np.array_equal(X, again.density.to_model(malignant))
    assert np.array_equal(explainer.density.log_joint(X), again.density.log_joint(X))
    e = again.explain(malignant.loc[499], target="benign")
    pd.testing.assert_frame_equal(e.path, explanation.path, check_exact=True)
    assert (e.cost, e.log_prob, e.posterior) == (
        explanation.cost, explanation.log_prob, explanation.posterior,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["kde", "mixture", "integers"])
def test_every_density_comes_back(kind, mixture, tmp_path):
    frame = load_table("iris")
    if kind == "mixture":
        density = mixture
    elif kind == "kde":
        density = KernelDensity(bandwidth=0.3).fit(frame)
    else:
        numbered = frame.to_frame().replace({"setosa": "0", "versicolor": "1", "virginica": "2"})
        numbered["class"] = numbered["class"].astype(int)
        density = LinearGaussianNetwork().fit(
            Table.from_frame(numbered, target="class", units={"petal width": "cm"})
        )
    Explainer(density).save(tmp_path / "m", include_rows=True)
    again = load(tmp_path / "m").density
    X, _ = density.sample(50, rng=np.random.default_rng(0))
    assert np.array_equal(density.log_joint(X), again.log_joint(X))
    assert again.classes_.tolist() == density.classes_.tolist()
    assert again.classes_.dtype == density.classes_.dtype
    assert (again.features_, again.target_) == (density.features_, density.target_)
    assert dict(again.units_) == dict(density.units_)
    assert again.draws_.mean == density.draws_.mean
    assert np.array_equal(again.draws_.quantiles, density.draws_.quantiles)
    for a, b in zip(
        density.sample(5, rng=np.random.default_rng(1)),
        again.sample(5, rng=np.random.default_rng(1)),
        strict=True,
    ):
        assert np.array_equal(a, b)


def test_settings_are_kept(small, tmp_path):
    rules = Constraints(
        fixed=["petal width"], upper={"petal length": np.inf}, weights={"sepal length": 2}
    )
    made = Explainer(
        small,
        planner=PathOptimizer(vertices=(0, 2), starts=3, time_limit=9.0),
        penalty=2.5,
        scale="nll",
        plausibility=-1.5,
        min_posterior=0.8,
        constraints=rules,
    )
    made.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.planner == made.planner
    assert again.constraints == rules
    for name in ("penalty", "scale", "plausibility", "min_posterior"):
        assert getattr(again, name) == getattr(made, name)


def test_the_same_model_is_the_same_bytes(small, tmp_path):
    Explainer(small).save(tmp_path / "a")
    load(tmp_path / "a").save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_another_planner_is_not_stored_and_said_so(small, straight, tmp_path):
    with pytest.warns(UserWarning, match="does not hold a StraightLine"):
        Explainer(small, planner=straight).save(tmp_path / "m")
    assert load(tmp_path / "m").planner is None


def test_a_classifier_is_not_stored_but_given_again(small, tmp_path):
    from sklearn.naive_bayes import GaussianNB

    iris = load_table("iris")
    model = GaussianNB().fit(iris.X, iris.y)
    Explainer(small, classifier=model).save(tmp_path / "m")
    assert load(tmp_path / "m", classifier=model).classifier is model
    with pytest.warns(UserWarning, match=r"saved with a classifier \(GaussianNB\)"):
        assert load(tmp_path / "m").classifier is None


# Privacy ------------------------------------------------------------------------------------------


def test_rows_are_written_on_request_only(tmp_path):
    kde = Explainer(KernelDensity(bandwidth=0.3).fit(load_table("iris")))
    with pytest.raises(PrivacyError, match=r"made of its training rows.*include_rows=True"):
        kde.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
    kde.save(tmp_path / "m", include_rows=True)
    assert load(tmp_path / "m").density.kind == "kde"


def test_a_network_file_holds_no_training_row(model, small):
    iris = load_table("iris")
    rows = {row.tobytes() for row in np.ascontiguousarray(iris.X)}
    rows |= {row.tobytes() for row in small.to_model(iris.X)}
    data = members(model)[ARRAYS]
    assert not any(row in data for row in rows)


def test_a_density_of_ones_own_cannot_be_stored(tmp_path):
    class Mine(LinearGaussianNetwork):
        kind = "mine"

    with pytest.raises(InvalidInput, match=r"A model file holds 'linear-gaussian'.*Got a Mine"):
        Explainer(Mine().fit(load_table("iris"))).save(tmp_path / "m")


# Writing ------------------------------------------------------------------------------------------


def test_a_failed_write_leaves_the_old_file(model, small, monkeypatch):
    before = model.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        Explainer(small, penalty=9).save(model)
    assert model.read_bytes() == before
    assert [p.name for p in model.parent.iterdir()] == ["model.daace"]


def test_files_of_the_first_version_are_read():
    explainer = load(Path(__file__).parent / "data" / "version_1.daace")
    assert (explainer.penalty, explainer.constraints) == (2, Constraints(fixed=["sepal width"]))
    assert explainer.held_out is None
    assert (explainer.density.left_out_, explainer.density.columns_) == ({}, ())
    e = explainer.explain([6.1, 2.9, 4.7, 1.4], target="virginica")
    assert e.found
    assert e.notes == ()


# Hostile files ------------------------------------------------------------------------------------


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04" + b"\0" * 100])
def test_what_is_not_a_zip(tmp_path, content):
    path = tmp_path / "m"
    path.write_bytes(content)
    assert "is not a model file, or a damaged one" in refused(path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99, 0.9999])
def test_truncated_files(model, share):
    data = model.read_bytes()
    model.write_bytes(data[: int(share * len(data))])
    refused(model)


@pytest.mark.parametrize("name", ["../evil.py", "/etc/passwd", "extra.txt", "meta.json/x"])
def test_other_members_are_refused(model, name):
    rezip(model, {**members(model), name: b"x"})
    assert f"must hold '{META}' and '{ARRAYS}' only" in refused(model)


def test_missing_members_are_refused(model):
    rezip(model, {META: members(model)[META]})
    assert "only" in refused(model)


def test_a_member_twice_is_refused(model):
    parts = members(model)
    with zipfile.ZipFile(model, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr(META, parts[META])
    assert "only" in refused(model)


def test_compressed_members_are_refused(model):
    rezip(model, members(model), zipfile.ZIP_DEFLATED)
    assert "must be stored uncompressed" in refused(model)


def test_a_zip_bomb_is_not_unpacked(model):
    rezip(model, {**members(model), META: b"0" * 50_000_000}, zipfile.ZIP_DEFLATED)
    refused(model)


def test_members_that_declare_too_much_are_not_read(model, monkeypatch):
    buffer = bytearray(model.read_bytes())
    entry = buffer.index(b"PK\x01\x02")  # central directory: sizes at 20 and 24
    for place in (20, 24):
        buffer[entry + place : entry + place + 4] = (2**31).to_bytes(4, "little")
    model.write_bytes(bytes(buffer))
    monkeypatch.setattr(persistence, "_read_bounded", lambda *_: pytest.fail("it was read"))
    assert "is too large: 2,147,483,648 bytes are declared" in refused(model)


def test_members_above_the_limit_are_not_read(model, monkeypatch):
    monkeypatch.setitem(persistence.MAX_SIZE, ARRAYS, 100)
    assert "is too large" in refused(model)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "is not a model file of daace"),
        ({"format_version": 3}, "must be of format version 1 or 2. Got 3"),
        ({"format_version": None}, "must be of format version 1 or 2"),
        ({"format_version": True}, "must be of format version 1 or 2"),
        ({"kind": "os.system"}, "must hold one of 'linear-gaussian'"),
        ({"kind": ["kde"]}, "must hold one of 'linear-gaussian'"),
        ({"kind": "kde"}, "does not hold a usable kde density: 'bandwidth' is missing"),
        ({"features": ["a", "a", "b", "c"]}, "must name distinct features"),
        ({"features": []}, "must name distinct features"),
        ({"features": "abcd"}, "must name distinct features"),
        (
            {"features": ["a", "b"], "units": {}, "nonnegative": [], "columns": []},
            "has shape (4,), not (2,)",
        ),
        ({"whole": ["x"]}, "must name its own features as 'whole'"),
        ({"left_out": ["x"]}, "must say why columns are left out"),
        ({"left_out": {"x": 1}}, "must say why columns are left out"),
        ({"left_out": {"petal width": "Why."}}, "features and other columns, each once"),
        ({"columns": ["petal width", "x"]}, "features and other columns, each once"),
        ({"columns": "petal width"}, "features and other columns, each once"),
        ({"nonnegative": "petal"}, "must name its own features as 'nonnegative'"),
        ({"classes": ["a", "b"]}, "it gives no density for its features and classes"),
        ({"classes": [0, False, "x"]}, "must name distinct classes"),
        ({"classes": None}, "must name distinct classes"),
        ({"units": {"other": "cm"}}, "units to its own features only"),
        ({"units": {"sepal length": 3}}, "units as text"),
        ({"target": 3}, "must name its target"),
        ({"target": "sepal length"}, "must name its target"),
        ({"density": None}, "must hold the settings"),
        ({"density": {"start": "naive"}}, "is missing"),
        ({"explainer": {}}, "holds wrong settings: 'penalty' is missing"),
    ],
)
def test_wrong_names_and_settings(model, changes, message):
    change_meta(model, **changes)
    assert message in refused(model)


@pytest.mark.parametrize(
    "changes",
    [
        {"penalty": -1},
        {"penalty": "high"},
        {"penalty": 1e10},
        {"scale": "x"},
        {"constraints": {"fixed": ["a"]}},
        {"constraints": 3},
        {"constraints": {"unknown": 1}},
        {"planner": {"vertices": "x"}},
        {"planner": 3},
        {"planner": {"vertices": [10**9], "starts": 8}},
        {"planner": {"vertices": [1.0], "starts": 8}},
        {"planner": {"vertices": [0, 1], "starts": 10**9}},
        {"planner": {"vertices": [0, 1], "starts": 2.5}},
        {"min_posterior": None},
        {"held_out": 3},
        {"held_out": {"rows": 10}},
    ],
)
def test_wrong_explainer_settings(model, changes):
    settings = json.loads(members(model)[META])["explainer"]
    change_meta(model, explainer={**settings, **changes})
    assert "holds wrong settings" in refused(model)


@pytest.mark.parametrize("data", [b"{", b"\xff\xfe", b"NaN", b"[" * 100_000, b"[]", b"3"])
def test_meta_that_is_no_json_object(model, data):
    rezip(model, {**members(model), META: data})
    refused(model)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"density__intercepts": lambda a: a * np.nan}, "must be finite. It holds NaN or infinity"),
        ({"density__variances": lambda a: a - 1e9}, "a variance is not positive"),
        ({"density__variances": lambda a: a[:, :2]}, "'variances' has shape (3, 2), not (3, 4)"),
        ({"density__variances": None}, "'variances' is missing"),
        ({"density__intercepts": lambda a: a.ravel()}, "does not hold a usable"),
        ({"density__log_prior": lambda a: a.astype(np.float32)}, "must be float64. Got float32"),
        ({"density__arcs": lambda a: np.ones_like(a)}, "does not hold a usable"),
        ({"standardizer__scale": lambda a: 0 * a}, "a standard deviation is not positive"),
        ({"standardizer__mean": None}, "'standardizer.mean' is missing"),
        ({"draws__quantiles": lambda a: a[::-1].copy()}, "contradict each other"),
        ({"draws__quantiles": lambda a: a[:7]}, "has shape (7,), not (101,)"),
        ({"draws__moments": lambda a: -abs(a)}, "contradict each other"),
        ({"draws__lower": lambda a: a + 1e6}, "contradict each other"),
        ({"draws__quantiles": lambda a: 0 * a + a.mean()}, "contradict each other"),
        ({"draws__moments": lambda a: a + np.array([1e3, 0])}, "contradict each other"),
        ({"draws__moments": lambda a: a * [1, 1e3]}, "contradict each other"),
        (
            {
                "draws__quantiles": lambda a: a + 1e3,
                "draws__moments": lambda a: a + np.array([1e3, 0]),
            },
            "the statistics are not those of its draws",
        ),
        ({"standardizer__mean": lambda a: a + 1e300}, "must be below 1e+100 in size"),
        ({"standardizer__mean": lambda a: a + 1e50}, "lost beside its mean"),
        ({"density__coefficients": lambda a: a * 1e300}, "must be below 1e+100 in size"),
        ({"density__coefficients": lambda a: a * 1e99}, "does not hold a usable"),
        ({"density__log_prior": lambda a: a + 1}, "probabilities of its classes do not sum to 1"),
        ({"density__extra": np.zeros(3)}, "it has no use for 'density.extra'"),
        ({"more": np.zeros(3)}, "it has no use for 'more'"),
    ],
)
def test_wrong_arrays(model, changes, message):
    change_arrays(model, **changes)
    assert message in refused(model)


# Sizes and memory ---------------------------------------------------------------------------------


def multiply_classes(path, times) -> None:
    """Write the same model with many times as many classes."""
    parts = members(path)
    meta, arrays = json.loads(parts[META]), dict(load_tensors(parts[ARRAYS]))
    meta["classes"] = [f"c{k:05d}" for k in range(3 * times)]
    for name in ("log_prior", "coefficients", "intercepts", "variances"):
        arrays[f"density.{name}"] = np.concatenate([arrays[f"density.{name}"]] * times)
    arrays["density.log_prior"] -= np.log(times)
    rezip(path, {META: json.dumps(meta).encode(), ARRAYS: save_tensors(arrays)})


def peak_of_loading(path) -> tuple[int, str]:
    """Return the most bytes that are held while a file is loaded, and why it is refused."""
    tracemalloc.start()
    try:
        load(path)
        message = ""
    except ModelFileError as error:
        message = str(error)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak, message


def test_a_small_file_with_thousands_of_classes_takes_no_memory(model):
    multiply_classes(model, 1000)
    peak, message = peak_of_loading(model)
    assert peak < 30 * model.stat().st_size
    assert "it has 3,000 classes, and 2,000 is the limit" in message


def test_a_file_with_many_classes_is_tried_in_little_memory(model):
    multiply_classes(model, 200)
    peak, message = peak_of_loading(model)
    assert message == ""
    assert peak < 300e6


def test_a_thousand_classes_of_ten_features_can_be_loaded(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.repeat([f"c{k:04d}" for k in range(1000)], 12)
    X = np.repeat(rng.normal(size=(1000, 10)), 12, axis=0) + 0.1 * rng.normal(size=(12_000, 10))
    names = tuple(f"x{j}" for j in range(10))
    table = Table(X, labels, names, np.unique(labels))
    network = LinearGaussianNetwork().fit_arcs(table, [("class", name) for name in names])
    Explainer(network).save(tmp_path / "m")
    peak, message = peak_of_loading(tmp_path / "m")
    assert message == ""
    assert peak < 1e9


def test_long_names_are_refused(model):
    change_meta(model, classes=["a", "b", "c" * 2000])
    assert "it has 2,000 characters in a name, and 1,000 is the limit" in refused(model)


def test_too_many_components_are_neither_saved_nor_loaded(tmp_path):
    count = 2_001
    crowd = GaussianMixture(
        np.ones(count), np.arange(float(count))[:, None], np.ones((count, 1, 1)),
        np.array(["a", "b", "c"])[np.arange(count) % 3],
    )  # fmt: skip
    with pytest.raises(InvalidInput, match="it has 2,001 components, and 2,000 is the limit"):
        Explainer(crowd).save(tmp_path / "m")


def test_too_many_features_are_refused_by_their_memory(model):
    names = [f"x{j}" for j in range(20_000)]
    change_meta(model, features=names, units={}, nonnegative=[], left_out={}, columns=[])
    assert "it would take 3.0 GB of memory for 20,000 features and 3 classes" in refused(model)


@pytest.mark.parametrize("name", ["x" * 1001, "\ud800"])
def test_what_could_not_be_loaded_is_not_saved(name, tmp_path):
    iris = load_table("iris")
    table = Table(iris.X, iris.y, (name, *iris.features[1:]), iris.classes)
    with pytest.raises(InvalidInput, match="A model file cannot hold this LinearGaussianNetwork: "):
        Explainer(LinearGaussianNetwork(max_parents=1).fit(table)).save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


# Names and numbers that nothing can be done with --------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": ["\ud800", "b", "c", "d"]}, "it holds half of a surrogate pair"),
        ({"units": {"petal width": "\udfff"}}, "it holds half of a surrogate pair"),
        ({"classes": [1, 2, 10**400]}, "it holds a number that is too large"),
        ({"target": 10**400}, "it holds a number that is too large"),
        ({"package_version": float("1e999")}, "is not JSON"),
        ({"classes": ["b", "a", "c"]}, "its classes are not sorted"),
        ({"classes": ["a", "b", "b\0"]}, "its classes are not sorted, or numpy cannot hold them"),
    ],
)
def test_names_and_numbers_that_nothing_can_be_done_with(model, changes, message):
    change_meta(model, **changes)
    assert message in refused(model)


@pytest.mark.parametrize("name", ["penalty", "plausibility", "min_posterior"])
@pytest.mark.parametrize("value", [10**400, "inf", "nan", True, "1", None, [1]])
def test_settings_that_are_no_numbers(model, name, value):
    settings = json.loads(members(model)[META])["explainer"]
    change_meta(model, explainer={**settings, name: value})
    refused(model)


def test_a_mixture_without_one_of_its_classes(mixture, tmp_path):
    path = tmp_path / "m"
    Explainer(mixture).save(path)
    for classes in (["ill"], ["ill", "other"], ["ill", "well", "x"]):
        change_meta(path, classes=classes)
        assert "it has components of other classes" in refused(path)


def numbers_of(kind, mixture):
    """A density of each kind, and the names of its arrays."""
    iris = load_table("iris")
    density = {
        "linear-gaussian": lambda: LinearGaussianNetwork(max_parents=2).fit(iris),
        "kde": lambda: KernelDensity(bandwidth=0.3).fit(iris),
        "gaussian-mixture": lambda: mixture,
    }[kind]()
    return density, [f"density.{name}" for name in density.to_arrays()[0]]


@pytest.mark.parametrize("kind", ["linear-gaussian", "kde", "gaussian-mixture"])
@pytest.mark.parametrize("value", [1e99, -1e99, 1e50])
def test_huge_parameters_are_refused(kind, value, mixture, tmp_path):
    density, names = numbers_of(kind, mixture)
    for name in [*names, "draws.lower", "draws.upper", "draws.quantiles", "draws.moments"]:
        for place in (0, -1):
            Explainer(density).save(tmp_path / "m", include_rows=True)
            array = dict(load_tensors(members(tmp_path / "m")[ARRAYS]))[name].copy()
            array.reshape(-1)[place] = value
            change_arrays(tmp_path / "m", **{name.replace(".", "__"): array})
            refused(tmp_path / "m")


def test_arrays_that_are_no_safetensors(model):
    for data in (b"", b"x" * 100, (2**60).to_bytes(8, "little") + b"{}"):
        rezip(model, {**members(model), ARRAYS: data})
        assert "is damaged" in refused(model)


@pytest.fixture(scope="module")
def content(small, tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("model") / "m"
    Explainer(small).save(path)
    return path.read_bytes()


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_flipped_bytes_never_get_through_unnoticed(data, small, content, tmp_path_factory):
    """Any damage is refused by name, or is in bytes that do not matter."""
    spoiled = bytearray(content)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(spoiled) - 1))
        spoiled[place] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.getbasetemp() / "spoiled"
    path.write_bytes(bytes(spoiled))
    try:
        again = load(path)
    except DaaceError:
        return
    X = np.zeros((2, 4))
    assert np.array_equal(again.density.log_joint(X), small.log_joint(X))
