package graph

// style is the picture's own: light, or dark where the reader's screen is. A state has a colour and a way to be drawn, so
// that it can be told without colours.
const style = `
.paper{fill:#ffffff}
text{font-family:"DejaVu Sans",Verdana,sans-serif;font-size:13px;fill:#1f2328}
.head{font-size:18px;font-weight:bold}
.node text{text-anchor:middle}
.node text.kind{font-size:11px;fill:#57606a}
.node rect{fill:#f6f8fa;stroke:#57606a;stroke-width:1.2}
.edge rect{fill:#ddf4ff;stroke:#0969da;stroke-width:2.4}
.centre rect{fill:#fff8c5;stroke:#9a6700;stroke-width:2.4}
.client rect{fill:#ffffff;stroke:#8c959f}
.link,.wire,.session{fill:none;stroke:#8c959f;stroke-width:1.2}
path.up{stroke:#1a7f37;stroke-width:2.8}
path.partly{stroke:#9a6700;stroke-width:2.8;stroke-dasharray:12 4 2 4}
path.down{stroke:#cf222e;stroke-width:2.8;stroke-dasharray:7 6}
path.session{stroke-width:1.4}
path.session.up{stroke-dasharray:1 3}
.word text{font-size:11px;text-anchor:middle}
.word.up text{fill:#1a7f37}
.word.partly text{fill:#9a6700}
.word.down text{fill:#cf222e;font-weight:bold}
@media (prefers-color-scheme: dark){
.paper{fill:#0d1117}
text{fill:#e6edf3}
.node text.kind{fill:#9198a1}
.node rect{fill:#161b22;stroke:#9198a1}
.edge rect{fill:#0c2d6b;stroke:#58a6ff}
.centre rect{fill:#3b2300;stroke:#d29922}
.client rect{fill:#0d1117;stroke:#6e7681}
.link,.wire,.session{stroke:#6e7681}
path.up{stroke:#3fb950}
path.partly{stroke:#d29922}
path.down{stroke:#ff7b72}
.word.up text{fill:#3fb950}
.word.partly text{fill:#d29922}
.word.down text{fill:#ff7b72}
}
`
