// The list of runs: filters, and fresh rows when something changes.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const sift = () => {
    const words = $("find").value.toLowerCase(), status = $("status").value;
    let shown = 0, all = 0;
    for (const row of $("list").rows) {
      const fits = (!status || row.dataset.status === status) && (!words || row.textContent.toLowerCase().includes(words));
      row.hidden = !fits;
      all += 1;
      shown += fits ? 1 : 0;
    }
    $("found").textContent = shown === all ? "" : `${shown} of ${all}`;
  };
  $("find").addEventListener("input", sift);
  $("status").addEventListener("change", sift);
  let last = $("list").innerHTML;
  new EventSource("events").addEventListener("changed", async () => {
    const answer = await fetch("rows");
    if (!answer.ok) return;
    const fresh = await answer.text();
    if (fresh === last) return;
    last = fresh;
    $("list").innerHTML = fresh;
    sift();
  });
})();
