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
  const silent = () => say("bad", "The server does not answer. What you typed is kept; this page goes on by itself once it does.");
  // The token of the page is its session's. After a new sign-in in another tab each answer brings the new one.
  const renew = (token) => {
    const old = JSON.parse(document.body.getAttribute("hx-headers") || "{}")["X-CSRF-Token"];
    if (!token || token === old) return false;
    document.body.setAttribute("hx-headers", JSON.stringify({ "X-CSRF-Token": token }));
    for (const field of document.querySelectorAll("input[name=csrf]")) field.value = token;
    return true;
  };
  const explain = (status, text, isRenewed) => {
    if (status === 401) say("warn", "Your session has ended. What you typed is kept.", signIn());
    else if (status === 403 && isRenewed) say("warn", "You have signed in again since. What you typed is kept: send it once more.");
    else if (status === 503) say("bad", "The database or the broker is away. What you typed is kept; try again in a moment.");
    else if (status === 429) say("warn", "Too many requests in a row. Wait a few seconds.");
    else {
      const answer = new DOMParser().parseFromString(text, "text/html");
      say("bad", (answer.body.textContent || "This was refused.").replace(/\s+/g, " ").trim().slice(0, 600));
    }
  };
  // What an action met stays until an action succeeds: a part that is asked for again meanwhile says nothing of it.
  let isOfAction = false;
  document.addEventListener("htmx:sendError", silent);
  document.addEventListener("htmx:timeout", () => say("bad", "The server takes too long to answer. What you typed is kept."));
  document.addEventListener("htmx:responseError", (event) => {
    const xhr = event.detail.xhr;
    isOfAction = event.detail.requestConfig.verb !== "get";
    explain(xhr.status, xhr.responseText, renew(xhr.getResponseHeader("X-CSRF-Token")));
  });
  document.addEventListener("htmx:afterOnLoad", (event) => {
    const xhr = event.detail.xhr;
    if (xhr.status >= 400) return;
    renew(xhr.getResponseHeader("X-CSRF-Token"));
    if (isOfAction && event.detail.requestConfig.verb === "get") return;
    isOfAction = false;
    if (notice()) notice().replaceChildren();
  });
  // A page that shows what is happening holds one stream, which says when its part has changed; then it asks for the part.
  // A hidden page holds none: without HTTP/2 a browser has six connections to a host. That of an agent does, who is called.
  const ASK_EVERY = 5000, OPEN_WITHIN = 10000, AGAIN_AFTER = 2000, AGAIN_AFTER_MAX = 60000;
  let stream = null, timers = [], losses = 0, isFirst = true;
  const pass = (name, selector) => {
    for (const one of document.querySelectorAll(selector)) window.htmx.trigger(one, name);
  };
  const ask = () => pass("renew", "[data-live]");
  const beat = () => pass("still", "[data-still]");
  const close = () => {
    if (stream) stream.close();
    for (const timer of timers.splice(0)) clearTimeout(timer);
    stream = null;
  };
  const follow = () => {
    close();
    const part = document.querySelector("[data-live]");
    const isSeen = part && (!document.hidden || "liveHidden" in part.dataset);
    if (!isSeen) return void (isFirst = false);
    stream = new EventSource(part.dataset.live);
    timers.push(setTimeout(lose, OPEN_WITHIN));
    stream.onerror = lose;
    stream.addEventListener("changed", ask);
    stream.addEventListener("still", beat);
    stream.addEventListener("ready", () => {
      for (const timer of timers.splice(0)) clearTimeout(timer);
      losses = 0;
      sayLost();
      if (!isFirst) ask();
      isFirst = false;
    });
  };
  // Until there is a stream again the page asks by itself, and says why that fails, or that it is late.
  const lose = () => {
    close();
    losses += 1;
    isFirst = false;
    sayLost();
    ask();
    const after = Math.min(AGAIN_AFTER * 2 ** losses, AGAIN_AFTER_MAX) * (0.5 + Math.random());
    timers.push(setInterval(() => { ask(); beat(); }, ASK_EVERY), setTimeout(follow, after));
  };
  const sayLost = () => {
    const place = document.getElementById("lost");
    if (place) place.textContent = losses > 1 ? "Changes do not arrive by themselves: this page asks every 5 seconds." : "";
  };
  document.addEventListener("visibilitychange", follow);
  window.addEventListener("pageshow", follow);
  window.addEventListener("pagehide", () => { close(); isFirst = false; });
  // What is typed of a call outlives what its page does: the next call on the line, a status that is set, a refresh. This tab
  // keeps it for this person until it is saved; the page says which forms it has, so that the server shows them.
  const drafts = (() => {
    const KEY = "leadclock.drafts", who = document.body.dataset.who || "";
    const read = () => {
      try {
        const found = JSON.parse(sessionStorage.getItem(KEY) || "{}");
        return found.who === who ? found.typed : {};
      } catch { return {}; }
    };
    const typed = read();
    const write = () => {
      try {
        if (Object.keys(typed).length) sessionStorage.setItem(KEY, JSON.stringify({ who, typed }));
        else sessionStorage.removeItem(KEY);
      } catch { /* a browser without storage keeps it as long as the page */ }
    };
    write();
    const isChanged = (field) => {
      if (field.type === "radio" || field.type === "checkbox") return field.checked && !field.defaultChecked;
      if (field.tagName === "SELECT") return [...field.options].some((one) => one.selected !== one.defaultSelected);
      return field.value !== field.defaultValue;
    };
    const note = (form) => {
      const fields = [...form.elements].filter((field) => field.name && field.type !== "hidden" && isChanged(field));
      delete typed[form.dataset.draft];
      if (fields.length) typed[form.dataset.draft] = Object.fromEntries(fields.map((field) => [field.name, field.value]));
      write();
    };
    const fill = () => {
      for (const form of document.querySelectorAll("form[data-draft]"))
        for (const field of form.elements) {
          const known = typed[form.dataset.draft];
          if (!known || !Object.hasOwn(known, field.name)) continue;
          if (field.type === "radio" || field.type === "checkbox") field.checked = field.value === known[field.name];
          else if (field.value !== known[field.name]) field.value = known[field.name];
        }
    };
    const drop = (form) => {
      delete typed[form.dataset.draft];
      write();
    };
    document.addEventListener("input", (event) => {
      const form = event.target.form;
      if (form && form.dataset.draft) note(form);
    });
    document.addEventListener("htmx:configRequest", (event) => {
      if (!("live" in event.detail.elt.dataset) || !document.querySelector("form[data-draft], #open_call")) return;
      const focused = document.activeElement.closest("form[data-draft]");
      const ids = new Set([...(focused ? [focused.dataset.draft] : []), ...Object.keys(typed).reverse()]);
      if (ids.size) event.detail.parameters.typed = [...ids].join(",");
    });
    document.addEventListener("htmx:afterSwap", fill);
    fill();
    return { fill, drop };
  })();
  // What a person has unfolded in a part that is asked for again stays unfolded, and what they folded folded.
  const folds = new Map();
  document.addEventListener("htmx:beforeSwap", (event) => {
    folds.clear();
    for (const one of event.detail.target.querySelectorAll("details[id]")) folds.set(one.id, one.open);
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    for (const one of event.detail.target.querySelectorAll("details[id]")) if (folds.has(one.id)) one.open = folds.get(one.id);
  });
  // A form is sent without leaving its page: a refusal, an ended session and an outage lose nothing that was typed.
  const sending = new WeakSet();
  const send = async (form, data) => {
    const target = form.getAttribute("action") || location.href;
    const body = form.enctype === "multipart/form-data" ? data : new URLSearchParams(data);
    const answer = await fetch(target, { method: "POST", body, headers: { "HX-Request": "true" } });
    const text = await answer.text();
    const isRenewed = renew(answer.headers.get("X-CSRF-Token"));
    const next = answer.headers.get("HX-Redirect");
    const main = new DOMParser().parseFromString(text, "text/html").querySelector("main");
    if (next) {
      drafts.drop(form);
      location.assign(next);
    }
    else if (!main) explain(answer.status, text, isRenewed);
    else {
      document.querySelector("main").replaceWith(main);
      window.htmx.process(main);
      drafts.fill();
      (main.querySelector("[autofocus]") || main).focus();
    }
  };
  document.addEventListener("submit", (event) => {
    const form = event.target, button = event.submitter;
    // Enter in a field of a form with many buttons presses none of them.
    if (button && "nothing" in button.dataset) return event.preventDefault();
    // What cannot be taken back asks first; the question is in the page, and so in the language of the page.
    const question = button && button.dataset.ask;
    if (question && !window.confirm(question)) return event.preventDefault();
    if (event.defaultPrevented || form.getAttribute("method") !== "post") return;
    event.preventDefault();
    if (sending.has(form)) return;
    sending.add(form);
    send(form, new FormData(form, button)).catch(silent).finally(() => sending.delete(form));
  });
  // What the API says of a form that is being typed is shown beside the field that it names.
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.target.id !== "checks") return;
    for (const slot of document.querySelectorAll("[data-fault]")) {
      slot.textContent = "";
      const field = document.querySelector(`[aria-describedby="${CSS.escape(slot.id)}"]`);
      if (field) field.removeAttribute("aria-invalid");
    }
    for (const fault of event.target.querySelectorAll("[data-at]")) {
      const slot = document.getElementById("fault-" + fault.dataset.at);
      if (!slot) continue;
      slot.textContent += (slot.textContent ? "; " : "") + fault.dataset.sentence;
      const field = document.querySelector(`[aria-describedby="${CSS.escape(slot.id)}"]`);
      if (field) field.setAttribute("aria-invalid", "true");
    }
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
