// What does a page do by itself? It says when a request failed, and keeps what was typed. Everything else is the server's.
(() => {
  "use strict";
  const signIn = () => ({ href: "/console/sign-in?next=/console", text: "Sign in in another tab" });
  const SILENT = "The server does not answer. What you typed is kept; this page goes on by itself once it does.";
  const SLOW = "The server takes too long to answer. What you typed is kept.";
  // The token of the page is its session's. After a new sign-in in another tab each answer brings the new one.
  const renew = (token) => {
    const old = JSON.parse(document.body.getAttribute("hx-headers") || "{}")["X-CSRF-Token"];
    if (!token || token === old) return false;
    document.body.setAttribute("hx-headers", JSON.stringify({ "X-CSRF-Token": token }));
    for (const field of document.querySelectorAll("input[name=csrf]")) field.value = token;
    return true;
  };
  const boxOf = (kind, text, link) => {
    const box = document.createElement("div"), line = document.createElement("p");
    box.className = "says " + kind;
    line.textContent = text + " ";
    if (link) line.append(Object.assign(document.createElement("a"), { ...link, textContent: link.text, target: "_blank", rel: "noopener" }));
    box.append(line);
    return box;
  };
  // What an answer says to a person: the problem that it shows, or what its status means.
  const explain = (status, text, isRenewed) => {
    if (status === 401) return boxOf("warn", "Your session has ended. What you typed is kept.", signIn());
    if (status === 403 && isRenewed) return boxOf("warn", "You have signed in again since. What you typed is kept: send it once more.");
    if (status === 503) return boxOf("bad", "The database or the broker is away. What you typed is kept; try again in a moment.");
    if (status === 429) return boxOf("warn", "Too many requests in a row. Wait a few seconds.");
    const answer = new DOMParser().parseFromString(text, "text/html"), problem = answer.querySelector("[data-problem]");
    if (problem) return document.importNode(problem, true);
    return boxOf("bad", (answer.body.textContent || "This was refused.").replace(/\s+/g, " ").trim().slice(0, 600));
  };
  // Beside a button, as near as its row or field lets it be; without one, beside the form or field that was used.
  const putBeside = (source, button, box) => {
    const host = button ? button.closest(".actions, .field, li, td, form") || button : source;
    if (host.matches("form, li, td")) host.append(box);
    else host.after(box);
  };
  // Who has asked for something that is not there at once sees that it is worked on.
  const WORKS_AFTER = 300;
  const showWork = (source, button) => {
    const sign = document.createElement("p");
    Object.assign(sign, { className: "working", textContent: (button && button.dataset.works) || "Working …" });
    sign.setAttribute("role", "status");
    const timer = setTimeout(() => source.isConnected && putBeside(source, button, sign), WORKS_AFTER);
    source.setAttribute("aria-busy", "true");
    return () => {
      clearTimeout(timer);
      sign.remove();
      source.removeAttribute("aria-busy");
    };
  };
  // What a page asks for by itself and does not get is said at its top, until it gets it.
  const notice = () => document.getElementById("notice");
  const say = (box) => {
    if (!notice() || refusals.says(box.textContent)) return;
    box.removeAttribute("role");
    notice().replaceChildren(box);
    refusals.keepInView();
  };
  // What a person asked for and did not get is said in one way on every page: at the button and at each wrong field. It has the
  // focus, and stays until the next action, whatever the page asks for by itself meanwhile.
  const refusals = (() => {
    const SOURCES = "form, [hx-get], [hx-post]";
    let shown = null;
    const pathOf = (source) => ["action", "hx-post", "hx-get"].map((name) => source.getAttribute(name)).find(Boolean) || "";
    const keyOf = (button) => (button ? button.name + "=" + button.value : "");
    // A part that was asked for again has another form of the same action.
    const find = () => {
      if (shown.source.isConnected && (!shown.button || shown.button.isConnected)) return true;
      shown.source = [...document.querySelectorAll(SOURCES)].find((one) => pathOf(one) === shown.path);
      const buttons = shown.source ? [...shown.source.querySelectorAll("button")] : [];
      shown.button = buttons.find((one) => keyOf(one) === shown.key);
      return Boolean(shown.source);
    };
    const place = () => {
      if (!find()) return notice().after(shown.box);
      putBeside(shown.source, shown.button, shown.box);
    };
    const fieldOf = (name) => {
      const elements = shown.source && shown.source.elements;
      const named = (one) => elements && (elements.namedItem(one) || elements.namedItem(one + ".0"));
      const found = named(name) || named(name.split(".").pop()), field = found instanceof RadioNodeList ? found[0] : found;
      return field && field.type !== "hidden" ? field : null;
    };
    const unmark = () => {
      for (const undo of shown.marks.splice(0)) undo();
    };
    const markField = (name, sentence) => {
      const slot = document.getElementById("fault-" + name) || document.createElement("p");
      const field = fieldOf(name) || document.querySelector(`[aria-describedby="${CSS.escape(slot.id)}"]`);
      if (!slot.id && !field) return;
      const before = { said: slot.textContent, by: field && field.getAttribute("aria-describedby") }, isNew = !slot.id;
      slot.textContent = sentence;
      if (isNew) {
        Object.assign(slot, { className: "wrong", id: "refused-" + name });
        const host = field.closest("fieldset, .field");
        if (host) host.append(slot);
        else (field.closest("label") || field).after(slot);
      }
      shown.marks.push(() => {
        if (isNew) slot.remove();
        else slot.textContent = before.said;
        if (!field) return;
        field.removeAttribute("aria-invalid");
        if (before.by) field.setAttribute("aria-describedby", before.by);
        else field.removeAttribute("aria-describedby");
      });
      if (!field) return;
      field.setAttribute("aria-invalid", "true");
      field.setAttribute("aria-describedby", [before.by, slot.id].filter((id, at, all) => id && all.indexOf(id) === at).join(" "));
    };
    const mark = () => {
      unmark();
      if (!shown.source) return;
      for (const one of shown.box.querySelectorAll("[data-at]"))
        if (!shown.corrected.has(one.dataset.at)) markField(one.dataset.at, one.dataset.sentence);
    };
    const clear = () => {
      if (shown) {
        unmark();
        shown.box.remove();
      }
      shown = null;
      for (const one of document.querySelectorAll("main > .says.good[role=status], main > [data-problem]")) one.remove();
    };
    // What was judged before, or is judged meanwhile of what is typed, does not say the opposite beside it.
    const hideVerdict = () => {
      for (const one of document.querySelectorAll("[data-verdict]")) one.remove();
    };
    const show = (source, button, box, takesFocus = true) => {
      const hasFocus = takesFocus || (shown && document.activeElement === shown.box);
      clear();
      Object.assign(box, { id: "refusal", tabIndex: -1 });
      box.setAttribute("role", "alert");
      box.removeAttribute("autofocus");
      shown = { source, button, box, path: pathOf(source), key: keyOf(button), marks: [], corrected: new Set() };
      place();
      mark();
      if (notice() && notice().textContent === box.textContent) notice().replaceChildren();
      hideVerdict();
      if (hasFocus) box.focus();
    };
    let hadFocus = false;
    document.addEventListener("htmx:beforeSwap", (event) => {
      if (!shown || !event.detail.shouldSwap) return;
      hadFocus = document.activeElement === shown.box;
      unmark();
    });
    document.addEventListener("input", (event) => {
      if (!shown) return;
      for (const one of shown.box.querySelectorAll("[data-at]"))
        if (shown.source && fieldOf(one.dataset.at) === event.target) shown.corrected.add(one.dataset.at);
      mark();
    });
    const keepInView = () => {
      if (shown && document.activeElement === shown.box) shown.box.scrollIntoView({ block: "nearest" });
    };
    const renewed = () => {
      if (!shown) return;
      if (!shown.box.isConnected) place();
      mark();
      hideVerdict();
      if (hadFocus) shown.box.focus({ preventScroll: true });
      keepInView();
    };
    return { show, clear, renewed, keepInView, says: (text) => Boolean(shown) && shown.box.textContent === text };
  })();
  // A request of htmx is the page's own, or one that a person made with a form or a button.
  const isOwn = (source) => source.matches("[data-live], [data-still], [data-later], #checks, [hx-trigger^=every]");
  const madeBy = (config) => {
    const event = config.triggeringEvent || {}, form = config.elt.closest("form") || config.elt;
    return [form, event.submitter || form.querySelector("button.primary, button"), /^(submit|click)$/.test(event.type)];
  };
  const fail = (config, box) => {
    // A part that comes later and does not come says so in its place.
    if ("later" in config.elt.dataset) return config.elt.replaceChildren(box);
    if (isOwn(config.elt)) return say(box);
    const [form, button, takesFocus] = madeBy(config);
    refusals.show(form, button, box, takesFocus);
  };
  const works = new WeakMap();
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (isOwn(event.detail.elt)) return;
    const [form, button, isPressed] = madeBy(event.detail.requestConfig);
    if (isPressed) refusals.clear();
    works.set(event.detail.xhr, showWork(form, button));
  });
  document.addEventListener("htmx:afterRequest", (event) => (works.get(event.detail.xhr) || (() => {}))());
  document.addEventListener("htmx:sendError", (event) => fail(event.detail.requestConfig, boxOf("bad", SILENT)));
  document.addEventListener("htmx:timeout", (event) => fail(event.detail.requestConfig, boxOf("bad", SLOW)));
  document.addEventListener("htmx:responseError", (event) => {
    const xhr = event.detail.xhr;
    fail(event.detail.requestConfig, explain(xhr.status, xhr.responseText, renew(xhr.getResponseHeader("X-CSRF-Token"))));
  });
  document.addEventListener("htmx:afterOnLoad", (event) => {
    const xhr = event.detail.xhr;
    if (xhr.status >= 400) return;
    renew(xhr.getResponseHeader("X-CSRF-Token"));
    if (!isOwn(event.detail.requestConfig.elt)) refusals.clear();
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
      const ids = "draftsEnd" in form.dataset ? Object.keys(typed) : [form.dataset.draft];
      for (const id of ids) delete typed[id];
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
  // What a person has unfolded in a part that is asked for again stays unfolded, and what they folded folded. A field in a fold
  // loses the focus while the part is swapped, and gets it back.
  const folds = new Map();
  let focused = "";
  document.addEventListener("htmx:beforeSwap", (event) => {
    folds.clear();
    focused = document.activeElement.id;
    for (const one of event.detail.target.querySelectorAll("details[id]")) folds.set(one.id, one.open);
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    for (const one of event.detail.target.querySelectorAll("details[id]")) if (folds.has(one.id)) one.open = folds.get(one.id);
    const field = document.activeElement === document.body && focused && document.getElementById(focused);
    if (field) field.focus({ preventScroll: true });
  });
  // A form is sent without leaving its page: a refusal, an ended session and an outage lose nothing that was typed.
  const sending = new WeakSet();
  const replace = (page) => {
    const main = page.querySelector("main");
    document.querySelector("main").replaceWith(main);
    document.title = page.title;
    window.htmx.process(main);
    drafts.fill();
    (main.querySelector("[autofocus]") || main).focus();
  };
  // A form that was refused goes on from what the server knows now, such as the version of a draft that was saved all the same.
  const takeHidden = (form, page) => {
    const path = CSS.escape(form.getAttribute("action") || "");
    const same = form.id ? page.getElementById(form.id) : page.querySelector(`form[action="${path}"]`);
    for (const field of same ? same.querySelectorAll("input[type=hidden]") : []) {
      const own = form.elements.namedItem(field.name);
      if (!own) form.append(document.importNode(field));
      else if (own.type === "hidden") own.value = field.value;
    }
  };
  const send = async (form, button, data) => {
    const isPost = form.getAttribute("method") === "post", url = new URL(form.getAttribute("action") || location.href, location.href);
    const fields = form.enctype === "multipart/form-data" ? data : new URLSearchParams(data);
    if (!isPost) url.search = fields;
    const answer = await fetch(url, { headers: { "HX-Request": "true" }, ...(isPost ? { method: "POST", body: fields } : {}) });
    const text = await answer.text();
    const isRenewed = renew(answer.headers.get("X-CSRF-Token")), next = answer.headers.get("HX-Redirect");
    const page = new DOMParser().parseFromString(text, "text/html"), main = page.querySelector("main");
    if (next) {
      drafts.drop(form);
      location.assign(next);
    } else if (main && (answer.ok || "redrawn" in main.dataset)) {
      // An address that is answered is opened as a link is, so that going back works.
      if (isPost) replace(page);
      else location.assign(url);
    } else {
      takeHidden(form, page);
      refusals.show(form, button, explain(answer.status, text, isRenewed));
    }
  };
  document.addEventListener("submit", (event) => {
    const form = event.target, button = event.submitter;
    // Enter in a field of a form with many buttons presses none of them.
    if (button && "nothing" in button.dataset) return event.preventDefault();
    // What cannot be taken back asks first; the question is in the page, and so in the language of the page.
    const question = button && button.dataset.ask;
    if (question && !window.confirm(question)) return event.preventDefault();
    if (event.defaultPrevented || form.hasAttribute("hx-get")) return;
    event.preventDefault();
    if (sending.has(form)) return;
    sending.add(form);
    refusals.clear();
    const silent = () => refusals.show(form, button, boxOf("bad", SILENT)), stopWork = showWork(form, button);
    send(form, button, new FormData(form, button)).catch(silent).finally(() => {
      stopWork();
      sending.delete(form);
    });
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
  document.addEventListener("htmx:afterSwap", refusals.renewed);
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
