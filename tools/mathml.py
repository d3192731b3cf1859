"""A hook of the documentation's build: formulas become MathML, which browsers show without any script."""

import html
import re

from latex2mathml.converter import convert

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content: str, **_) -> str:
    def mathml(match: re.Match) -> str:
        tex = html.unescape(match[3])
        return convert(tex, display="inline" if match[2] == "(" else "block")

    return _FORMULA.sub(mathml, content)
