"""Names of a model cannot end or open an element of a live page."""

import json
import re

import dalembert as da


def test_names_do_not_end_or_open_scripts(tmp_path):
    x, y = da.coordinates("x y")
    name = "<!-- <script> </script>"
    system = da.System((x, y), [[1, 0], [0, 1]], (0, -1), da.Constraint(x, name=name))
    text = da.page(system, (0, 0), (0, 0), (0, 1), tmp_path / "page.html").read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="model">(.*?)</script>', text)
    assert found is not None and "<" not in found[1]
    assert name in str(json.loads(found[1]))
