// Everything is on the page without this. It only makes the graph answer to pointing, to the keyboard and to a finger.
"use strict";
(() => {
  const detail = document.getElementById("detail");
  const graph = document.querySelector("svg.overlap");
  if (graph && detail) {
    const links = [...graph.querySelectorAll(".edge, .count")];
    const resting = "Choose a line or a circle: what it stands for is told here.";
    detail.hidden = false;
    detail.textContent = resting;
    let held = null;
    const show = (group) => {
      graph.classList.toggle("choosing", group !== null);
      detail.textContent = group ? group.getAttribute("aria-label") : resting;
      for (const link of links) {
        const own = link.dataset.a + " " + link.dataset.b;
        const near =
          group !== null &&
          (group.dataset.node === undefined
            ? own === group.dataset.a + " " + group.dataset.b
            : link.dataset.a === group.dataset.node || link.dataset.b === group.dataset.node);
        link.classList.toggle("near", near);
      }
    };
    for (const group of graph.querySelectorAll(".edge, .node")) {
      group.addEventListener("pointerenter", () => show(group));
      group.addEventListener("pointerleave", () => show(held));
      group.addEventListener("focus", () => show(group));
      group.addEventListener("blur", () => show(held));
      group.addEventListener("click", (event) => {
        event.stopPropagation();
        held = held === group ? null : group;
        show(held);
      });
    }
    graph.addEventListener("click", () => {
      held = null;
      show(null);
    });
  }
  // A printed page has no hand to open what is closed.
  let closed = [];
  addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details:not([open])")) {
      one.open = true;
      closed.push(one);
    }
  });
  addEventListener("afterprint", () => {
    for (const one of closed) one.open = false;
    closed = [];
  });
})();
