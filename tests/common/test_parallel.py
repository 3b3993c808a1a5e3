"""Work on large arrays in threads that are kept."""

import os
import subprocess
import sys

import numpy as np
import pytest

from dalembert.common.parallel import WORTH_DIVIDING, in_parallel, submit


@pytest.mark.parametrize("count", [0, 5, WORTH_DIVIDING + 3, 3 * WORTH_DIVIDING])
def test_every_part_of_an_array_is_visited_once(count: int) -> None:
    numbers = np.zeros(count)

    def add_one(part: np.ndarray) -> None:
        part += 1.0

    in_parallel(add_one, numbers, unit=7)
    assert (numbers == 1.0).all()


def test_an_error_in_a_thread_is_raised() -> None:
    def fail(_: object) -> None:
        raise ValueError("of a part")

    with pytest.raises(ValueError, match="of a part"):
        in_parallel(fail, np.zeros(2 * WORTH_DIVIDING))
    with pytest.raises(ValueError, match="of a part"):
        submit(fail, None).result()


IN_A_CHILD = """
import os
from dalembert.common.parallel import submit
assert submit(int, 3).result() == 3
child = os.fork()
if child == 0:
    os._exit(submit(int, 4).result(timeout=20))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks on this system")
def test_a_child_process_has_threads_of_its_own() -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", IN_A_CHILD], check=True, timeout=60)
