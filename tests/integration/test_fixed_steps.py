"""Members that take steps of one length, on a processor and as a GPU takes them."""

import ctypes
from contextlib import nullcontext

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.ensembles import native_members, runner
from dalembert.native import cuda, gpu, ptx
from dalembert.native.assembly import MachineCode
from dalembert.native.dormand_prince import DORMAND_PRINCE
from dalembert.native.lanes import LaneModule
from dalembert.native.member_kernel import write_member
from dalembert.native.runge_kutta import RUNGE_KUTTA
from dalembert.native.writer import LONG, Writer
from helpers import CHAIN_NUMBERS, chain, chain_state, pendulum

TIMES = np.array([0.0, 0.1, 0.25, 1.0])
STARTS = np.array([chain_state(2, k) for k in range(5)]).transpose(1, 0, 2)
GRAVITIES = CHAIN_NUMBERS | {"g": np.linspace(1, 20, 5)}


def many(step, **given):
    return da.simulate_ensemble(chain(2), *STARTS, TIMES, parameters=GRAVITIES, step=step, **given)


def test_the_method_is_runge_and_kuttas():
    """Against the textbook's steps with the acceleration that the equation itself gives."""
    found = many(0.01, drift=None)
    for k in (0, 4):
        numbers = CHAIN_NUMBERS | {"g": GRAVITIES["g"][k]}

        def slope(y, numbers=numbers):
            moved = da.motion(chain(2), y[:4], y[4:], parameters=numbers)
            return np.concatenate([y[4:], np.asarray(moved.acceleration)])

        y, h = np.concatenate([STARTS[0][k], STARTS[1][k]]), 0.01
        for _ in range(10):
            k1 = slope(y)
            k2 = slope(y + h / 2 * k1)
            k3 = slope(y + h / 2 * k2)
            k4 = slope(y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        np.testing.assert_allclose(found["q"][k, 1], y[:4], atol=1e-13)
        np.testing.assert_allclose(found["qd"][k, 1], y[4:], atol=1e-12)


@pytest.mark.parametrize("drift", [da.Projection(), da.Baumgarte(5, 5), None])
def test_a_single_run_takes_the_same_steps(drift):
    """Outputs at multiples of the step; between two steps an output is reached by one shorter step."""
    found = many(0.0125, drift=drift)
    for k in (0, 4):
        numbers = CHAIN_NUMBERS | {"g": GRAVITIES["g"][k]}
        alone = da.simulate(chain(2), STARTS[0][k], STARTS[1][k], TIMES, parameters=numbers, step=0.0125, drift=drift)
        assert alone.statistics["solver"] == "RungeKutta" and alone.statistics["program"] == "machine code"
        np.testing.assert_allclose(found["q"][k], alone.q, rtol=0, atol=1e-13)
        np.testing.assert_allclose(found["qd"][k], alone.qd, rtol=0, atol=1e-12)


@pytest.mark.parametrize("drift", [da.Projection(), da.Baumgarte(5, 5), None])
def test_the_error_falls_with_the_fourth_power(drift):
    exact = many(None, rtol=1e-12, atol=1e-13)["q"]
    errors = [abs(many(h, drift=drift)["q"] - exact).max().item() for h in (0.0025, 0.00125)]
    assert errors[0] / errors[1] > 15  # 22 with a projection, which takes away more than its share


def test_every_step_ends_on_the_constraints():
    found = many(0.01)
    for k in range(5):
        at = da.check(chain(2), found["q"][k, -1], found["qd"][k, -1], parameters=CHAIN_NUMBERS | {"g": 1.0})
        assert at.well_posed
    ends = many(0.01, keep="end")
    np.testing.assert_array_equal(ends["q"][:, 0], found["q"][:, -1])


def test_steps_are_no_longer_than_asked_for():
    """A span that is no whole number of steps takes one more of them, equal ones."""
    np.testing.assert_array_equal(many(0.05)["q"], many(0.0500001)["q"])
    assert abs(many(0.05)["q"] - many(0.0499)["q"]).max() > 0


def test_the_general_integrator_takes_the_same_steps_where_machine_code_declines(monkeypatch):
    """Here for all of them, and then with too few steps."""
    quick = many(0.05, drift=None)
    monkeypatch.setattr(native_members, "in_machine_code", lambda *_: False)
    np.testing.assert_allclose(many(0.05, drift=None)["q"], quick["q"], atol=1e-12)
    short = many(0.05, drift=None, max_steps=7)
    assert all("Raise `max_steps`" in reason for reason in short["reason"].values)
    assert np.isfinite(short["q"][:, :3]).all() and np.isnan(short["q"][:, 3]).all()


class CpuAsGpu:
    """Stands in for a GPU: the same kernel for this processor, one thread after another."""

    name = "this processor"

    def __init__(self, moving, tableau, single):
        module = LaneModule(1, single=single)
        member = write_member(module, moving, tableau)
        w = Writer(module, "threads", ptx.KERNEL)
        for i in w.each(w.function.args[0]):
            ptx.call_member(w, member, i, moving)
        w.b.ret_void()
        self.code = MachineCode(module)
        kinds = [ctypes.c_int64 if kind is LONG else ctypes.c_void_p for kind in ptx.KERNEL]
        self.threads = ctypes.CFUNCTYPE(None, *kinds)(self.code.address("threads"))

    def use(self):
        pass

    def memory(self, *sizes):
        return OwnMemory(sizes)

    def host_array(self, shape):
        return np.full(shape, np.nan)

    def stream(self):
        return nullcontext(OwnStream(self.threads))

    def busy_seconds(self, streams):
        return 0.0


class OwnStream:
    """Does at once what a stream of a GPU does later."""

    def __init__(self, threads):
        self.threads = threads

    def put(self, array, place):
        ctypes.memmove(place.value, array.ctypes.data, array.nbytes)

    def get(self, array, place):
        ctypes.memmove(array.ctypes.data, place.value, array.nbytes)

    def launch(self, kernel, count, block, arguments):
        self.threads(*(argument.value for argument in arguments))

    def wait(self):
        pass


class OwnMemory:
    def __init__(self, sizes):
        self.arrays = [np.full(-(-max(size, 1) // 8), np.nan) for size in sizes]

    def __enter__(self):
        return [ctypes.c_uint64(array.ctypes.data) for array in self.arrays]

    def __exit__(self, *_):
        pass


@pytest.fixture
def cpu_as_gpu(monkeypatch):
    """Run the kernels of ensembles on a GPU on this processor, with numbers arranged as on a GPU."""

    def prepare(self, moving, tableau, *, single=False):
        self.size, self.device, self._kernel = 2 * moving.n, CpuAsGpu(moving, tableau, single), None

    monkeypatch.setattr(gpu.GpuMotionBatch, "__init__", prepare)


@pytest.mark.parametrize("step", [None, 0.01])
@pytest.mark.parametrize("keep", ["times", "end"])
def test_a_card_gives_the_same_numbers(cpu_as_gpu, step, keep):
    here, there = many(step, keep=keep), many(step, keep=keep, device="gpu")
    np.testing.assert_allclose(here["q"], there["q"], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(here["qd"], there["qd"], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("least_pinned", [0, gpu.WORTH_PINNING])
@pytest.mark.parametrize("own", [True, False])
def test_members_are_divided_among_streams(cpu_as_gpu, monkeypatch, own, least_pinned):
    """Each stream has its own rows of starts, results, and of parameters unless all members share them."""
    monkeypatch.setattr(gpu, "WORTH_PINNING", least_pinned)
    monkeypatch.setattr(gpu, "LEAST_PER_STREAM", 2)
    monkeypatch.setattr(gpu, "FIRST", 1)
    angles = np.linspace(0.1, 2.0, 11)
    starts = np.stack([np.sin(angles), -np.cos(angles)], axis=1)
    given = {"parameters": {"g": np.linspace(9, 10, 11) if own else 9.81}}
    here, there = (da.simulate_ensemble(pendulum(), starts, (0, 0), [0, 1], **given, device=d) for d in ("cpu", "gpu"))
    assert gpu._cuts(11) == [0, 1, 3, 5, 7, 9, 11]
    np.testing.assert_allclose(here["q"], there["q"], rtol=1e-12, atol=1e-13)


def test_kernel_time_counts_overlapping_kernels_once(monkeypatch):
    monkeypatch.setattr(cuda, "_driver", Answering)
    times = {"a": 0.0, "b": 4.0, "c": 3.0, "d": 6.0, "e": 8.0, "f": 9.0}  # of events, in milliseconds
    monkeypatch.setattr(cuda.GpuStream, "milliseconds_since", lambda self, first, event: times[event])
    streams = [cuda.GpuStream(lambda *_: None, None, *events) for events in ("ab", "cd", "ef")]
    assert cuda.GpuDevice().busy_seconds(streams) == pytest.approx(0.007)


def test_work_is_done_before_its_stream_ends(monkeypatch):
    driver = Answering()
    monkeypatch.setattr(cuda, "_driver", lambda: driver)
    device = cuda.GpuDevice()
    with pytest.raises(KeyboardInterrupt), device.stream():
        raise KeyboardInterrupt
    assert driver.calls[-4:] == ["cuStreamCreate", "cuEventCreate", "cuEventCreate", "cuStreamSynchronize"]
    with device.stream() as first, device.stream() as second:
        assert first is not second
    assert driver.calls.count("cuStreamCreate") == 2  # streams are used again


def test_what_a_card_declines_is_simulated_here(cpu_as_gpu):
    starts = [(0.6, -0.8), (1, 1), (1, 0)]
    found = da.simulate_ensemble(pendulum(), starts, (0, 0), [0, 1], parameters={"g": 9.81}, device="gpu")
    assert "`rod` is violated by" in found["reason"].values[1]
    assert np.isfinite(found["q"][[0, 2]]).all()


def moving_of(system):
    native = da.build(system).native
    return native.motions(tuple(range(len(native.source.levels))), 2, None, lambda moving, tableau: moving, RUNGE_KUTTA)


@pytest.mark.parametrize("tableau", [RUNGE_KUTTA, DORMAND_PRINCE], ids=lambda method: method.name)
def test_the_kernel_is_complete(tableau):
    """One kernel, nothing left for a linker to find."""
    text = ptx.ptx_of(moving_of(chain(2)), tableau)
    assert text.count(".entry") == 1 and "members(" in text
    assert ".extern" not in text and ".func" not in text


def test_functions_of_a_library_that_is_not_there(monkeypatch):
    x, y = da.coordinates("x y")
    wave = da.System((x, y), sp.eye(2), (0, -9.81), da.Constraint(y - sp.exp(x) * sp.sin(x), name="wave"))
    monkeypatch.setattr(ptx.Path, "glob", lambda self, pattern: iter(()))
    with pytest.raises(da.InputError, match="`libdevice` must be installed to compute exp on a GPU; it was not found"):
        ptx.ptx_of(moving_of(wave), RUNGE_KUTTA)


def test_a_machine_without_a_card(monkeypatch):
    def nothing(name):
        raise OSError(name)

    monkeypatch.setattr(cuda.ctypes, "CDLL", nothing)
    with pytest.raises(da.InputError, match='`device` must be "cpu" on this machine: there is no driver'):
        cuda.GpuDevice()


class Answering:
    """A driver for which every call succeeds; it keeps their names."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        return lambda *_: self.calls.append(name) or 0


def test_a_kernel_is_unloaded_with_its_system(monkeypatch):
    driver = Answering()
    monkeypatch.setattr(cuda, "_driver", lambda: driver)
    kernel = cuda.GpuDevice().load_kernel("", "members")
    assert driver.calls[-2:] == ["cuModuleLoadData", "cuModuleGetFunction"]
    del kernel
    assert driver.calls[-1] == "cuModuleUnload"


def test_memory_of_a_card_is_used_again(monkeypatch):
    driver = Answering()
    monkeypatch.setattr(cuda, "_driver", lambda: driver)
    device = cuda.GpuDevice()
    for _ in range(2):
        with device.memory(80, 0) as places:
            assert len(places) == 2
    assert driver.calls.count("cuMemAlloc_v2") == 2 and "cuMemFree_v2" not in driver.calls
    with device.memory(cuda.KEPT_GPU_BYTES + 1):
        pass
    assert driver.calls.count("cuMemFree_v2") == 3


class Refusing:
    """A driver that answers every call with an error."""

    def cuGetErrorString(self, code, text):  # noqa: N802
        return 1

    def __getattr__(self, name):
        return lambda *_: 2


def test_what_the_driver_says(monkeypatch):
    monkeypatch.setattr(cuda, "_driver", Refusing)
    with pytest.raises(da.DeviceError, match="CUDA call `cuInit` failed: error 2"):
        cuda.GpuDevice()


def test_a_system_without_machine_code(monkeypatch):
    monkeypatch.setattr(runner, "in_machine_code", lambda *_: False)
    with pytest.raises(da.InputError, match='with `device="gpu"` the system must be compiled'):
        many(None, device="gpu")


def test_a_device_that_is_none():
    with pytest.raises(da.InputError, match='`device` must be "cpu" or "gpu"; got \'cuda\''):
        many(None, device="cuda")


@pytest.fixture
def compiled_only(monkeypatch):
    """Mark members that the compiled integrator hands over, instead of integrating them."""
    nothing = np.full((4, 8), np.nan)
    monkeypatch.setattr(
        runner.EnsembleRunner, "_general", lambda self, y, p: (nothing[: len(self.times), : len(y)], "declined")
    )


def test_more_steps_than_can_be_counted(compiled_only):
    assert (many(1e-19, drift=None, max_steps=10)["reason"] == "declined").all()


def test_a_contradiction_that_begins_in_the_last_step(compiled_only):
    x, y = da.coordinates("x y")
    late = sp.Piecewise((0, da.t < 0.8), ((da.t - 0.8) ** 3, True))
    pair = (da.Constraint(x, name="wall"), da.Constraint(x - late, name="late"))
    found = da.simulate_ensemble(da.System((x, y), sp.eye(2), (0, -1), pair), [(0, 0)], (0, 0), [0, 1], step=0.25)
    assert found["reason"].values[0] == "declined"


@pytest.mark.parametrize("drift", [da.Projection(), None])
def test_a_fixed_step_out_of_the_domain_of_a_force_is_refused(drift):
    """z̈ = −1 − √z falls to z = 0 in finite time; no state beyond is kept."""
    z = da.coordinates("z")
    with pytest.raises(da.SimulationError, match="z = ") as caught:
        da.simulate(da.System((z,), [[1]], (-1 - sp.sqrt(z),)), (1,), (0,), [0, 3], step=0.01, drift=drift)
    assert np.isfinite(caught.value.trajectory.q).all()
    assert 0 <= caught.value.trajectory.q[-1, 0] < 0.03


SINGLE = {"device": "gpu", "precision": "single"}


@pytest.mark.parametrize("given", [{"step": 0.01}, {"rtol": 1e-5}, {"rtol": 1e-5, "atol": 1e-5}])
def test_single_precision_reports_its_error(cpu_as_gpu, given):
    """The reported error is that of the members themselves, of which all are compared here."""
    angles = np.linspace(0.1, 2.0, 11)
    starts, times = np.stack([np.sin(angles), -np.cos(angles)], axis=1), np.linspace(0, 2, 5)
    options = {"parameters": {"g": 9.81}, **given}
    exact = da.simulate_ensemble(pendulum(), starts, (0, 0), times, **options)
    found = da.simulate_ensemble(pendulum(), starts, (0, 0), times, **options, **SINGLE)
    assert found.attrs["handed_over"] == 0 and found["q"].dtype == np.float64
    apart = [abs(found[name] - exact[name]).max() / abs(exact[name]).max() for name in ("q", "qd")]
    assert 1e-8 < found.attrs["single_precision_error"] == pytest.approx(float(max(apart)), rel=1e-12)
    # rounding of 200 steps, or the tolerance of some 15
    assert found.attrs["single_precision_error"] < (1e-5 if "step" in given else 1e-3)
    assert (
        "Single precision: 11 members, simulated in double precision as well, differ by up to" in found.attrs["notes"]
    )
    np.testing.assert_allclose((found["q"] ** 2).sum("coordinate"), 1, atol=2e-6)


def test_single_precision_has_sines_and_functions_of_a_library(cpu_as_gpu):
    """Also for angles of many turns, and for powers."""
    a, b = da.coordinates("a b")
    kinetic = a.diff(da.t) ** 2 / 2 + b.diff(da.t) ** 2 * (2 + sp.cos(a)) / 2
    twisted = da.System.from_lagrangian(kinetic + sp.sin(b) * sp.exp(-(a**2)) - a**2 / 2, (a, b))
    given = {"times": [0, 3], "step": 0.01, "keep": "end", "drift": None}
    starts = np.stack([np.linspace(-1, 1, 5), np.linspace(-1e3, 1e3, 5)], axis=1)
    exact, found = (da.simulate_ensemble(twisted, starts, (1, 0.5), **given, **own) for own in ({}, SINGLE))
    np.testing.assert_allclose(found["qd"], exact["qd"], atol=3e-3)  # the rounding of 10³ is 3e-5, in each step
    np.testing.assert_allclose(found["qd"][2], exact["qd"][2], atol=1e-5)


def test_starts_are_checked_in_double_precision(cpu_as_gpu):
    starts, given = [(1 + 1e-7, 0), (1, 0)], {"step": 0.01, "parameters": {"g": 1.0}}
    off = da.simulate_ensemble(pendulum(), starts, (0, 0), [0, 1], **given, **SINGLE)
    assert "`rod` is violated by" in off["reason"].values[0] and not off["reason"].values[1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"precision": "half"}, '`precision` must be "double" or "single"; got \'half\''),
        ({"device": "cpu"}, '`device` must be "gpu" with `precision="single"`, since CPUs gain little'),
        ({}, '`rtol` must be at least 1.2e-06 with `precision="single"`, whose rounding is 1.2e-07; got 1e-09'),
        ({"rtol": 1e-5, "atol": 1e-9}, "`atol` must be at least 1.2e-07 .* got 1e-09"),
        ({"rtol": 1e-5, "drift": da.Projection(conserve="energy")}, "`drift` cannot conserve first integrals"),
    ],
)
def test_single_precision_refuses_what_it_cannot(given, message):
    theta = da.coordinates("theta")
    swing = da.System.from_lagrangian(theta.diff(da.t) ** 2 / 2 + sp.cos(theta), (theta,))
    with pytest.raises(da.InputError, match=message):
        da.simulate_ensemble(swing, [(1.0,), (0.5,)], (0,), [0, 1], **(SINGLE | given))


def test_single_precision_refuses_redundant_constraints(cpu_as_gpu):
    x, y = da.coordinates("x y")
    rods = (da.Constraint(x**2 + y**2 - 1, name="rod"), da.Constraint(2 * x**2 + 2 * y**2 - 2, name="again"))
    system = da.System((x, y), sp.eye(2), (0, -9.81), rods)
    with pytest.raises(da.InputError, match="redundant constraints must be simulated in double precision"):
        da.simulate_ensemble(system, [(1, 0), (0, 1)], (0, 0), [0, 1], step=0.01, **SINGLE)


def test_single_precision_refuses_friction_that_can_stick():
    x, y = da.coordinates("x y")
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(0.3))
    with pytest.raises(da.InputError, match="a system whose contacts can stick cannot be simulated with"):
        da.simulate_ensemble(
            da.System((x, y), sp.eye(2), (0, -9.81), floor), [(1, 0), (0, 0)], (1, 0), [0, 1], step=0.01, **SINGLE
        )
