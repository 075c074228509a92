const overview = JSON.parse(byId("overview").textContent);
curveChart(byId("curve"), overview.curves);
spreadChart(byId("spread"), overview.rows);
candidateTable(overview);
// Milliseconds from navigation to a usable page, for the test that holds it to a limit.
document.documentElement.dataset.ready = performance.now().toFixed(0);
