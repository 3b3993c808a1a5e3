"""The largest margin of a distribution of a load: by lines for one free force, by a linear program for several."""

import numpy as np

from dalembert.stick_slip.largest_margin import largest_margin


def test_lines_and_the_linear_program_find_the_same_margin() -> None:
    rng = np.random.default_rng(5)
    a, slopes = rng.normal(size=(20, 5)), rng.normal(size=(20, 5, 1))
    margin, z = largest_margin(a, slopes)
    # a second free force without effect makes it a linear program
    by_program, _ = largest_margin(a, np.append(slopes, np.zeros_like(slopes), axis=2))
    np.testing.assert_allclose(margin, by_program, atol=1e-9)
    np.testing.assert_allclose(np.min(a + slopes[:, :, 0] * z, axis=1).clip(max=1), margin, atol=1e-12)
