// Lines of JSON in an element, plain or packed: see compress.py. Only the chunk that somebody looks at is opened.
function linesOf(id) {
  let lines, starts;
  const open = new Map();
  async function unpacked(text) {
    if (typeof DecompressionStream === "undefined") throw new Error("this browser is too old to unpack it: try a newer one");
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return (await new Response(stream).text()).split("\n");
  }
  return async (place) => {
    if (!lines) {
      lines = byId(id).textContent.split("\n");
      starts = JSON.parse(lines[0]).packed;
    }
    if (!starts) return JSON.parse(lines[place]);
    const chunk = starts.findLastIndex((start) => start <= place);
    if (!open.has(chunk)) open.set(chunk, unpacked(lines[chunk + 1]));
    return JSON.parse((await open.get(chunk))[place - starts[chunk]]);
  };
}
