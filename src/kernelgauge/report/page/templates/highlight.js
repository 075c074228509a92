// A light colouring of Python, and of C inside its long strings, where kernels live. Only ever makes text nodes.
const PYTHON = /(#[^\n]*)|("""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\b(and|as|assert|async|await|break|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|import|in|is|lambda|None|not|or|pass|raise|return|self|True|try|while|with|yield)\b|\b(0[xX][\da-fA-F]+|\d[\d_]*\.?\d*(?:[eE][-+]?\d+)?)\b/g;
const C = /(\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)|#[^\n]*)|("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\b(auto|bool|break|case|char|const|constexpr|continue|default|do|double|else|extern|float|float4|for|half|if|inline|int|int64_t|long|namespace|return|short|signed|sizeof|static|struct|switch|template|typename|unsigned|using|void|volatile|while|__global__|__device__|__host__|__shared__|__restrict__|__launch_bounds__)\b|\b(0[xX][\da-fA-F]+|\d+\.?\d*(?:[eE][-+]?\d+)?[fFuUlL]*)\b/g;
// What is opened and never closed reaches to the end: looking for each end anew would take quadratic time.
const CLASSES = ["h-c", "h-s", "h-k", "h-n"];

function tokens(text, grammar) {
  const found = [];
  let end = 0;
  for (const match of text.matchAll(grammar)) {
    if (match.index > end) found.push([null, text.slice(end, match.index)]);
    const kind = match.slice(1).findIndex((group) => group !== undefined);
    const long = grammar === PYTHON && kind === 1 && /^("""|''')[^]*\1$/.test(match[0]) && /[;{]\s*\n/.test(match[0]);
    if (long) found.push([CLASSES[1], match[0].slice(0, 3)], ...tokens(match[0].slice(3, -3), C), [CLASSES[1], match[0].slice(-3)]);
    else found.push([CLASSES[kind], match[0]]);
    end = match.index + match[0].length;
  }
  found.push([null, text.slice(end)]);
  return found;
}

function sourceView(text) {
  const view = make("pre", { class: "source", tabindex: 0 });
  let line = make("span");
  // A text of many megabytes stays readable, in one colour.
  const parts = text.length > 400000 ? [[null, text]] : tokens(text, PYTHON);
  for (const [kind, part] of parts) {
    part.split("\n").forEach((piece, i) => {
      if (i) {
        view.append(line);
        line = make("span");
      }
      if (piece) line.append(kind ? make("span", { class: kind }, piece) : piece);
    });
  }
  if (line.hasChildNodes()) view.append(line);
  return view;
}
