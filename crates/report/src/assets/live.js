// Fills the frame of a run and keeps it fresh while the run is worked on. Section bodies come escaped from the server.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const bodies = new Map();
  let started = false, busy = false, again = false;
  const say = (text) => { $("state").textContent = text; };
  const load = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch("data.json");
      const fresh = await answer.json();
      if (!answer.ok) { say(fresh.error || "cannot be read"); return; }
      show(fresh);
    } catch (error) {
      say("the dashboard does not answer");
    } finally {
      busy = false;
      if (again) { again = false; setTimeout(load, 300); }
    }
  };
  const show = ({ head, sections, data }) => {
    if (bodies.get("head") !== head) { bodies.set("head", head); $("head").innerHTML = head; }
    const main = $("content");
    for (const s of sections) {
      const known = $(s.id);
      if (!known) {
        const section = document.createElement("section");
        section.id = s.id;
        section.setAttribute("aria-labelledby", `h-${s.id}`);
        section.innerHTML = `<h2 id="h-${s.id}"></h2><div class="content"></div>`;
        section.firstChild.textContent = s.title;
        section.lastChild.innerHTML = s.body;
        main.append(section);
        const link = document.createElement("a");
        link.href = `#${s.id}`;
        link.textContent = s.title;
        $("links").append(link, " ");
      } else if (bodies.get(s.id) !== s.body && s.id !== "tree" && s.id !== "candidates") {
        known.querySelector(".content").innerHTML = s.body;
      }
      bodies.set(s.id, s.body);
    }
    const [used, allowed] = data.evaluations;
    say(data.busy ? `running, ${used} of ${allowed}${data.working.length ? `: ${data.working.join("; ")}` : ""}` : data.status === "running" ? "cut off" : data.status);
    $("stop").hidden = !data.busy;
    $("resume").hidden = data.busy;
    if (started) window.ksearch && window.ksearch.update(data);
    else {
      started = true;
      $("data").textContent = JSON.stringify(data);
      const script = document.createElement("script");
      script.src = "../../assets/page.js";
      document.body.append(script);
    }
  };
  const order = async (what) => {
    const button = $(what);
    button.disabled = true;
    try {
      const answer = await fetch(what, { method: "POST" });
      say(answer.ok ? (what === "stop" ? "asked to stop" : "resuming…") : await answer.text());
    } catch (error) {
      say("the dashboard does not answer");
    }
    button.disabled = false;
  };
  for (const what of ["stop", "resume"]) $(what).addEventListener("click", () => order(what));
  const events = new EventSource("events");
  events.addEventListener("changed", load);
  events.addEventListener("error", () => say("the dashboard does not answer"));
})();
