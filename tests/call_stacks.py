"""The library's functions on the stack when a function is entered, for some calls, printed as JSON.

``python call_stacks.py '[["simulate", "NativeEngine.step_batch"], …]'`` in a process of its own: a profile function
stays away from whatever a test runner does.
"""

import json
import sys
from pathlib import Path

import dalembert as da
from helpers import pendulum

PACKAGE = Path(da.__file__).parent
CALLS = {
    "simulate": lambda system, q=(1, 0): da.simulate(system, q, (0, 0), [0, 1], parameters={"g": 9.81}),
    "motion": lambda system, q=(1, 0): da.motion(system, q, (0, 0), parameters={"g": 9.81}),
}


def stacks(call, system, last):
    """The stacks, from the outermost function, each time that a function named ``last`` is entered."""
    found = []

    def profile(frame, event, _):
        if event != "call" or frame.f_code.co_qualname != last:
            return
        stack = []
        while frame is not None:
            file = Path(frame.f_code.co_filename)
            if file.is_relative_to(PACKAGE):
                stack.append((file.relative_to(PACKAGE).as_posix(), frame.f_code.co_qualname))
            frame = frame.f_back
        found.append(stack[::-1])

    sys.setprofile(profile)
    try:
        CALLS[call](system)
    finally:
        sys.setprofile(None)
    return found


def main(wanted):
    found = []
    for call, last, first in wanted:
        system = pendulum(name="a rod of which nothing else has built a system") if first else pendulum()
        if not first:
            CALLS[call](system, (0, -1))  # builds and compiles; terms at the last state are cached
        found.append(stacks(call, system, last))
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
