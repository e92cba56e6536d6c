from __future__ import annotations

import json
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from daace import GaussianMixture, KernelDensity, LinearGaussianNetwork, Table, load_table
from daace.density import model_archive
from daace.density.model_archive import ARRAYS, META
from daace.density.model_file import read_model, write_model
from daace.exceptions import DaaceError, InvalidInput, ModelFileError, PrivacyError


@pytest.fixture(scope="session")
def mixture() -> GaussianMixture:
    return GaussianMixture(
        [1, 1], [[0.0, 0.0], [4.0, 1.0]], [np.eye(2), np.eye(2)], ["ill", "well"]
    )


@pytest.fixture(scope="module")
def small():
    return LinearGaussianNetwork(max_parents=2).fit(load_table("iris"))


@pytest.fixture
def model(small, tmp_path):
    path = tmp_path / "model.daace"
    write_model(path, small, {})
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
        read_model(path)
    message = str(error.value)
    assert "\n" not in message
    assert message.endswith(".")
    assert str(path) in message
    return message


# Round trip ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["kde", "mixture", "profiles", "integers"])
def test_every_density_comes_back(kind, mixture, tmp_path):
    frame = load_table("iris")
    if kind == "mixture":
        density = mixture
    elif kind == "kde":
        density = KernelDensity(bandwidth=0.3).fit(frame)
    elif kind == "profiles":
        density = LinearGaussianNetwork(profiles=2).fit(frame)
    else:
        numbered = frame.to_frame().replace({"setosa": "0", "versicolor": "1", "virginica": "2"})
        numbered["class"] = numbered["class"].astype(int)
        density = LinearGaussianNetwork().fit(
            Table.from_frame(numbered, target="class", units={"petal width": "cm"})
        )
    write_model(tmp_path / "m", density, {"a": 1}, include_rows=True)
    again, settings = read_model(tmp_path / "m")
    assert settings == {"a": 1}
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


# Privacy ------------------------------------------------------------------------------------------


def test_rows_are_written_on_request_only(tmp_path):
    kde = KernelDensity(bandwidth=0.3).fit(load_table("iris"))
    with pytest.raises(PrivacyError, match=r"made of its training rows.*include_rows=True"):
        write_model(tmp_path / "m", kde, {})
    assert list(tmp_path.iterdir()) == []
    write_model(tmp_path / "m", kde, {}, include_rows=True)
    assert read_model(tmp_path / "m")[0].kind == "kde"


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
        write_model(tmp_path / "m", Mine().fit(load_table("iris")), {})


# Writing ------------------------------------------------------------------------------------------


def test_a_failed_write_leaves_the_old_file(model, small, monkeypatch):
    before = model.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        write_model(model, small, {"penalty": 9})
    assert model.read_bytes() == before
    assert [p.name for p in model.parent.iterdir()] == ["model.daace"]


# Hostile files ------------------------------------------------------------------------------------


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_model(tmp_path / "nothing")


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04" + b"\0" * 100])
def test_what_is_not_a_zip(tmp_path, content):
    path = tmp_path / "m"
    path.write_bytes(content)
    assert "is damaged or not a model file" in refused(path)


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
    monkeypatch.setattr(model_archive, "_read_bounded", lambda *_: pytest.fail("it was read"))
    assert "is too large: 2,147,483,648 bytes are declared" in refused(model)


def test_members_above_the_limit_are_not_read(model, monkeypatch):
    monkeypatch.setitem(model_archive.MAX_SIZE, ARRAYS, 100)
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
            "its encoding has other features",
        ),
        ({"whole": ["x"]}, "must name its own features as 'whole'"),
        ({"left_out": ["x"]}, "must give the reason for each left-out column"),
        ({"left_out": {"x": 1}}, "must give the reason for each left-out column"),
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
        ({"explainer": None}, "must hold the settings"),
    ],
)
def test_wrong_names_and_settings(model, changes, message):
    change_meta(model, **changes)
    assert message in refused(model)


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
        read_model(path)
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
    write_model(tmp_path / "m", network, {})
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
        write_model(tmp_path / "m", crowd, {})


def test_too_many_features_are_refused_by_their_memory(model):
    names = [f"x{j}" for j in range(20_000)]
    change_meta(model, features=names, units={}, nonnegative=[], left_out={}, columns=[])
    assert "it would take 3.0 GB of memory for 20,000 features and 3 classes" in refused(model)


@pytest.mark.parametrize("name", ["x" * 1001, "\ud800"])
def test_what_could_not_be_loaded_is_not_saved(name, tmp_path):
    iris = load_table("iris")
    table = Table(iris.X, iris.y, (name, *iris.features[1:]), iris.classes)
    with pytest.raises(InvalidInput, match="A model file cannot hold this LinearGaussianNetwork: "):
        write_model(tmp_path / "m", LinearGaussianNetwork(max_parents=1).fit(table), {})
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


def test_a_mixture_without_one_of_its_classes(mixture, tmp_path):
    path = tmp_path / "m"
    write_model(path, mixture, {})
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
            write_model(tmp_path / "m", density, {}, include_rows=True)
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
    write_model(path, small, {})
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
        again, _ = read_model(path)
    except DaaceError:
        return
    X = np.zeros((2, 4))
    assert np.array_equal(again.log_joint(X), small.log_joint(X))


def test_the_same_density_is_the_same_bytes(small, tmp_path):
    write_model(tmp_path / "a", small, {"x": 0.1})
    write_model(tmp_path / "b", *read_model(tmp_path / "a"))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
