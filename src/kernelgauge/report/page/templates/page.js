const overview = JSON.parse(byId("overview").textContent);
overview.rows.forEach((row, place) => { row.place = place; });
const { go, follow } = candidateTable(overview);
curveChart(byId("curve"), overview.curves);
spreadChart(byId("spread"), overview.rows);
if (byId("roofline")) rooflineChart(byId("roofline"), overview, go);
if (byId("kinds")) tagStrips(byId("kinds"), overview);
// Last, when nothing above moves any more.
follow();
// Milliseconds from navigation to a usable page, for the test that holds it to a limit.
document.documentElement.dataset.ready = performance.now().toFixed(0);
