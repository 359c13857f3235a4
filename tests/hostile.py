"""Markdown that a hostile model may answer: each tries to run, to load or to hide something."""

from __future__ import annotations

EVIL = "https://evil.example"
"""Where everything would be loaded from."""

_RUN = "window.ran=1"
_CLICK = "javascript:window.ran=1"
_DIAGRAM = f'flowchart TD\n A@{{ img: "{EVIL}/d.png", label: "x", pos: "t", w: 60, h: 60 }}\n'
_STYLED = f'%%{{init: {{"themeCSS": ".node{{background:url({EVIL}/css)}}"}}}}%%\ngraph TD\nA-->B\n'

TAGS = [
    f"<script>{_RUN}</script>",
    f"<ScRiPt>{_RUN}</sCrIpT>",
    f'a <img src=x onerror="{_RUN}"> b',
    f"<svg/onload={_RUN}>",
    f"<svg><image href={EVIL}/svg></svg>",
    f"<style>body{{background:url({EVIL}/style)}}</style>",
    f"<link rel=stylesheet href={EVIL}/link>",
    f"<iframe src={EVIL}/frame></iframe>",
    f"<details open ontoggle={_RUN}><summary>x</summary></details>",
    f'<meta http-equiv="refresh" content="0;url={EVIL} ">',
    "<a href='data:text/html,x'>y</a>",
    f"<!-- --><script>{_RUN}</script>",
    f"<!-- x --!><script>{_RUN}</script>",
    f"<![CDATA[><script>{_RUN}</script>]]>",
    f"<?php <script>{_RUN}</script> ?>",
    f"</pre></div><script>{_RUN}</script>",
    f"\\<script>{_RUN}\\</script>",
    f"\\\\<script>{_RUN}</script>",
    f"<\x00script>{_RUN}</script>",
    f"<\x0bscript>{_RUN}</script>",
    f"a\r<script>{_RUN}</script>",
    f"a\u2028<script>{_RUN}</script>",
    ">" * 100 + f" <script>{_RUN}</script>",
    "\ud83c<script>window.ran=1</script>",
]

CODE = [
    f"```html\n<script>{_RUN}</script>\n```",
    f"```html\n<script>{_RUN}</script>",
    f"~~~\n</code></pre><script>{_RUN}</script>\n~~~",
    f"~~~\n```\n~~~\n<script>{_RUN}</script>\n```",
    f"``` <script>{_RUN}</script>\nx\n```",
    f'```"><img src={EVIL}/info>\nx\n```',
    f"    <script>{_RUN}</script>",
    f"\t```\n<script>{_RUN}</script>\n\t```",
    f"`<script>{_RUN}</script>`",
    f"``` `` <script>{_RUN}</script>",
    f"`a`<b>`<script>{_RUN}</script>`",
    f"\\\\`<img src={EVIL}/escaped>`",
    f"``a` <img src={EVIL}/mixed> `b``",
    f"a ` b\n\n<img src={EVIL}/paragraph> ` d",
    f"`\n\n![x]({EVIL}/paragraph.png)\n\n`",
    f"- item\n\n  ```\n  <script>{_RUN}</script>\n  ```",
    f"1. a\n   ```\n<script>{_RUN}</script>\n   ```",
    f"> ```\n> <script>{_RUN}</script>",
    f"<pre>\n```\n<script>{_RUN}</script>\n```\n</pre>",
    f'[x]: /url "\n```\n<script>{_RUN}</script>\n```\n"',
    f"a\x0c```\x0c<script>{_RUN}</script>\n```",
]

PICTURES = [
    f"![x]({EVIL}/a.png)",
    f"![x][ref]\n\n[ref]: {EVIL}/ref.png",
    f"![ref][]\n\n[ref]: {EVIL}/collapsed.png",
    f"\\![x]({EVIL}/escaped.png) \\\\![x]({EVIL}/twice.png)",
    f"!\n[x]({EVIL}/newline.png)",
    f"| a |\n|---|\n| ![x]({EVIL}/table.png) |\n",
    "![x](attachment:a.png) ![x](/api/contents)",
]

LINKS = [
    f"[bank]({_CLICK})",
    f"[click\n]({_CLICK})",
    f"[x]( <{_CLICK}> )",
    f"<{_CLICK}>",
    f"[a]: {_CLICK}\n[a]",
    f"[https://bank.example]({EVIL}/hidden)",
    f"[your bank][b]\n\n[b]: {EVIL}/reference",
    f"[your bank]\n\n  [your\nbank]:\n  {EVIL}/shortcut",
    f"> [your bank]: {EVIL}/quoted\n\n[your bank]",
    f"[your \\] bank]\n\n[your \\] bank]: {EVIL}/escaped",
    f"[a\\]({EVIL}/label)",
    f"[a [b]({EVIL}/inner) c]({EVIL}/outer)",
    f"[a `]` b]({EVIL}/code)",
    "[x](data:text/html,<script>1</script>) [y](command:quit) [z](vscode://x)",
    f"[^1]\n\n[^1]: [x]({_CLICK})",
    f"- [ ]({EVIL}/task) x",
]

MATHS = [
    f"$<script>{_RUN}</script>$",
    f"$<img src=x onerror={_RUN}>$ @@0@@",
    f"$$\n<img src={EVIL}/maths onerror={_RUN}>\n$$",
    f"$\\href{{{_CLICK}}}{{x}}$",
    f"\\\\(\\href{{{_CLICK}}}{{x}}\\\\)",
    f"\\(\\href{{{_CLICK}}}{{x}}\\)",
    f"\\begin{{align}}\\href{{{_CLICK}}}{{x}}\\end{{align}}",
    f"$\\require{{html}}\\href{{{_CLICK}}}{{x}}$",
    f"$\\let\\zz\\href \\zz{{{_CLICK}}}{{x}}$",
    f"$\\mmlToken{{mi}}[href='{EVIL}/token']{{bank}}$",
    f"$\\bbox[background:url({EVIL}/box)]{{x}}$",
    f"$\\style{{background:url({EVIL}/style)}}{{x}}$",
    f"$\\includegraphics{{{EVIL}/maths.png}}$",
    f"- a `b\n- $\\href{{{_CLICK}}}{{x}}$ `\n",
    f"# a `b\n$\\mmlToken{{mi}}[href='{EVIL}/heading']{{x}}$ `\n",
    f"$ `$<img src={EVIL}/dollars>` $",
    "$\\newcommand{\\alpha}{1}$ and $\\def\\beta{2}$",
]

DIAGRAMS = [
    f"```mermaid\n{_DIAGRAM}```\n",
    f"~~~ mermaid\n{_DIAGRAM}~~~\n",
    f"```\tMermaid\n{_DIAGRAM}```\n",
    f"- x\n\n  ```mermaid\n  graph TD\n  A@{{ img: '{EVIL}/list.png' }}\n  ```\n",
    f"> ```mermaid\n> {_DIAGRAM}",
    f"```mermaid\n{_STYLED}```\n",
    f'```mermaid\ngraph TD\nA["<img src={EVIL}/label.png>"]\n```\n',
    f'[x]: /url "\n```mermaid\n{_DIAGRAM}```\n"',
]

HOSTILE = [*TAGS, *CODE, *PICTURES, *LINKS, *MATHS, *DIAGRAMS]
