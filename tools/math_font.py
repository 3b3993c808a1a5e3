# SPDX-License-Identifier: BSD-3-Clause
"""Make the mathematics font of the HTML pages, a subset of STIX Two Math as WOFF2.

    pip install fonttools brotli ziamath
    python tools/math_font.py PATH/TO/STIXTwoMath-Regular.ttf

The PyPI package `ziamath` holds the font (`ziamath/fonts/STIXTwoMath-Regular.ttf`). Its licence, the SIL Open Font
License 1.1, is in `src/dalembert/report/fonts/OFL.txt`.
"""

import sys
from pathlib import Path

from fontTools import subset

FOLDER = Path(__file__).parents[1] / "src/dalembert/report/fonts"
MATHEMATICAL = [range(0x1D400, 0x1D468), range(0x1D6A8, 0x1D71C)]  # bold and italic letters, Latin and Greek
GREEK = [range(0x391, 0x3CA), (0x3D1, 0x3D5, 0x3D6, 0x3F1, 0x3F5)]
SIGNS = (
    "\u210e\u0131\u0237\u00b7\u00d7\u00b1\u02d9\u00a8\u2032\u2033\u2062\u2061\u2212\u2026\u22c5\u221a"
    "\u221e\u2208\u2264\u2265\u2260\u2248\u2016\u2202\u2211\u222b\u27e8\u27e9\u230a\u230b\u2308\u2309"
    "\u23df\u2192\u2113\u207a"
)


def main() -> None:
    letters = {code for group in (*MATHEMATICAL, *GREEK, range(0x20, 0x7F)) for code in group}
    options = subset.Options(
        flavor="woff2",
        hinting=False,
        layout_features=[],
        notdef_outline=True,
        desubroutinize=True,
        name_IDs=[0, 1, 4, 13],
    )
    font = subset.load_font(sys.argv[1], options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=letters | {ord(sign) for sign in SIGNS})
    subsetter.subset(font)
    subset.save_font(font, str(FOLDER / "math.woff2"), options)


if __name__ == "__main__":
    main()
