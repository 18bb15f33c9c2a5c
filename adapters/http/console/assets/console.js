// What does a page do by itself? It says when a request failed, and keeps what was typed. Everything else is the server's.
(() => {
  "use strict";
  const notice = () => document.getElementById("notice");
  const say = (kind, text, link) => {
    const place = notice();
    if (!place) return;
    const box = document.createElement("div");
    box.className = "says " + kind;
    const line = document.createElement("p");
    line.textContent = text + " ";
    if (link) {
      const anchor = document.createElement("a");
      anchor.href = link.href;
      anchor.target = "_blank";
      anchor.rel = "noopener";
      anchor.textContent = link.text;
      line.append(anchor);
    }
    box.append(line);
    place.replaceChildren(box);
  };
  const signIn = () => ({ href: "/console/sign-in?next=/console", text: "Sign in in another tab" });
  document.addEventListener("htmx:sendError", () => say("bad", "The server does not answer. What you typed is kept; this page goes on by itself once it does."));
  document.addEventListener("htmx:timeout", () => say("bad", "The server takes too long to answer. What you typed is kept."));
  document.addEventListener("htmx:responseError", (event) => {
    const status = event.detail.xhr.status;
    if (status === 401) say("warn", "Your session has ended. What you typed is kept.", signIn());
    else if (status === 503) say("bad", "The database or the broker is away. What you typed is kept; try again in a moment.");
    else if (status === 429) say("warn", "Too many requests in a row. Wait a few seconds.");
    else {
      const answer = new DOMParser().parseFromString(event.detail.xhr.responseText, "text/html");
      say("bad", (answer.body.textContent || "This was refused.").replace(/\s+/g, " ").trim().slice(0, 600));
    }
  });
  document.addEventListener("htmx:afterOnLoad", (event) => {
    if (event.detail.xhr.status < 400 && notice()) notice().replaceChildren();
  });
  // Buttons that cannot be taken back ask first; the question is in the page, and so in the language of the page.
  document.addEventListener("submit", (event) => {
    const question = event.submitter && event.submitter.dataset.ask;
    if (question && !window.confirm(question)) event.preventDefault();
  });
  // The queue of texts is worked by keys while one of them has the focus: j and k move, y and n press its buttons.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const review = event.target.closest && event.target.closest("[data-review]");
    if (!review) return;
    const step = { j: "nextElementSibling", k: "previousElementSibling" }[event.key];
    const target = step ? review[step] : review.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
    if (!target) return;
    event.preventDefault();
    if (step) target.focus(); else target.click();
  });
  // "/" goes to the search of a page, as in most consoles.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    const search = document.querySelector("input[type=search]");
    if (search) { event.preventDefault(); search.focus(); }
  });
})();
