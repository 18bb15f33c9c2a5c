// Sends a request of an operation on this page, with a key that its reader pastes.
// The key is in one variable of this page and in one header of each request: never in storage or in an address.
// What changes something is sent only after its name is typed.
(() => {
  const SECONDS = 30; // longer than the API takes for anything
  const SHOWN_MAX = 200000; // characters of an answer that are shown
  const TEXT = /^(text\/|application\/([\w.-]+\+)?(json|xml))/;
  const source = new URL("reference.json", document.currentScript.src);
  let key = "";
  let loading = null;

  function make(tag, properties = {}, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  }

  function labelled(text, input, hint = "") {
    return make("label", {}, make("span", { textContent: text }), input, make("small", { textContent: hint }));
  }

  // The operations of the reference by id, read once; after a failure the next press reads again.
  function operations() {
    loading ??= fetch(source, { credentials: "omit", signal: AbortSignal.timeout(SECONDS * 1000) })
      .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(`${source.pathname} answers ${answer.status}`))))
      .then((reference) => {
        const found = new Map();
        for (const [path, entry] of Object.entries(reference.paths))
          for (const [method, one] of Object.entries(entry)) found.set(one.operationId, { path, method, ...one });
        return found;
      })
      .catch((error) => {
        loading = null;
        throw error;
      });
    return loading;
  }

  function keyField(security) {
    const input = make("input", { type: "password", autocomplete: "off", spellcheck: false, value: key });
    input.addEventListener("input", () => {
      key = input.value.trim();
      for (const other of document.querySelectorAll(".try input[type=password]")) if (other !== input) other.value = input.value;
    });
    const must = security.some((scheme) => Object.keys(scheme).length === 0) ? "Key, if you have one" : "Key";
    return labelled(must, input, "public:private. Only the memory of this page has it: a reload forgets it.");
  }

  function parameterField(parameter) {
    const example = Array.isArray(parameter.example) ? parameter.example.join(",") : String(parameter.example ?? "");
    const input = make("input", { type: "text", autocomplete: "off", spellcheck: false, placeholder: example });
    const must = parameter.required ? ", required" : "";
    return { parameter, input, shown: labelled(`${parameter.name} (${parameter.in}${must})`, input, parameter.description ?? "") };
  }

  function buildForm(one) {
    const fields = one.parameters.map(parameterField);
    const [needed, optional] = [true, false].map((must) => fields.filter((field) => Boolean(field.parameter.required) === must));
    const content = one.requestBody?.content["application/json"];
    const body = content && make("textarea", { rows: 12, spellcheck: false, value: JSON.stringify(content.example ?? {}, null, 2) });
    // Whatever changes something takes an Idempotency-Key (adapters/http/document/openapi.py).
    const changes = one.method === "delete" || one.parameters.some((parameter) => parameter.name === "Idempotency-Key");
    const typed = changes && make("input", { type: "text", autocomplete: "off", spellcheck: false });
    const said = make("p");
    said.setAttribute("role", "status");
    const shown = make("pre", { hidden: true, tabIndex: 0 });
    const form = make("form", { noValidate: true });
    const isOpen = one.security.every((scheme) => Object.keys(scheme).length === 0);
    if (!isOpen) form.append(keyField(one.security));
    form.append(...needed.map((field) => field.shown));
    if (optional.length) {
      const more = make("summary", { textContent: `${optional.length} optional fields` });
      form.append(make("details", { className: "more" }, more, ...optional.map((field) => field.shown)));
    }
    if (body) form.append(labelled("Body, as JSON", body));
    if (typed) form.append(labelled(`This changes data of ${location.host}. Type ${one.operationId} to send it`, typed));
    form.append(make("button", { type: "submit", textContent: "Send" }), said, shown);
    return { one, form, fields, body, typed, said, shown };
  }

  function refuse(view, input, sentence) {
    view.said.textContent = sentence;
    const folded = input.closest("details.more");
    if (folded) folded.open = true;
    input.focus();
    return null;
  }

  // Returns what is sent; null after it has said what is missing.
  function buildRequest(view) {
    const { one, fields, body, typed } = view;
    const headers = { Accept: "application/json" };
    const query = new URLSearchParams();
    let path = one.path;
    for (const { parameter, input } of fields) {
      const value = input.value.trim();
      if (!value && parameter.required) return refuse(view, input, `Fill in ${parameter.name}.`);
      if (!value) continue;
      if (parameter.in === "path") path = path.replace(`{${parameter.name}}`, encodeURIComponent(value));
      else if (parameter.in === "header") headers[parameter.name] = value;
      else query.append(parameter.name, value);
    }
    if (body) {
      try {
        JSON.parse(body.value);
      } catch (error) {
        return refuse(view, body, `The body is no JSON: ${error.message}`);
      }
      headers["Content-Type"] = "application/json";
    }
    if (typed && typed.value.trim() !== one.operationId) return refuse(view, typed, `Not sent: type ${one.operationId} to send it.`);
    if (key) headers.Authorization = key.includes(":") ? `Basic ${btoa(key)}` : `Bearer ${key}`;
    const options = { method: one.method.toUpperCase(), headers, body: body?.value, signal: AbortSignal.timeout(SECONDS * 1000) };
    // No cookie: the answer is that to the key alone. No redirect: the key goes to this server alone.
    const alone = { credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer" };
    return [path + (String(query) && `?${query}`), { ...options, ...alone }];
  }

  async function readAnswer(answer) {
    const type = answer.headers.get("content-type") ?? "";
    if (!TEXT.test(type)) {
      const size = (await answer.blob()).size;
      return size ? `${size} bytes of ${type}` : "";
    }
    const text = await answer.text();
    const shown = text && type.includes("json") ? JSON.stringify(JSON.parse(text), null, 2) : text;
    return shown.length > SHOWN_MAX ? `${shown.slice(0, SHOWN_MAX)}\n… ${shown.length - SHOWN_MAX} more characters` : shown;
  }

  async function send(view) {
    if (view.form.dataset.busy) return;
    view.form.dataset.busy = "yes";
    view.shown.hidden = true;
    try {
      const request = buildRequest(view);
      if (request === null) return;
      view.said.textContent = "Sent; waiting for the answer.";
      if (view.typed) view.typed.value = ""; // each request is typed for
      const answer = await fetch(...request);
      const text = await readAnswer(answer);
      view.said.textContent = `${answer.status} ${answer.statusText}, request ${answer.headers.get("x-request-id") ?? "without an id"}`;
      view.shown.textContent = text;
      view.shown.hidden = !text;
    } catch (error) {
      const late = error.name === "TimeoutError";
      view.said.textContent = late ? `No answer in ${SECONDS} s. What was sent may still be done.` : `No answer: ${error.message}`;
    } finally {
      delete view.form.dataset.busy;
    }
  }

  async function open(box, button) {
    button.disabled = true;
    try {
      const view = buildForm((await operations()).get(box.id));
      view.form.addEventListener("submit", (event) => {
        event.preventDefault();
        send(view);
      });
      const place = make("section", { className: "try" }, view.form);
      place.setAttribute("aria-label", `Try ${box.id}`);
      button.replaceWith(place);
      place.querySelector("input, textarea, button").focus();
    } catch (error) {
      button.disabled = false;
      button.textContent = `Try it (${error.message})`;
    }
  }

  // Forms are made where somebody asks for one: the page has hundreds of operations.
  function offer(details) {
    const box = details.querySelector(":scope > div");
    const isSendable = details.querySelector(":scope > summary > .m:not(.HEAD)");
    if (!isSendable || !details.open || box.querySelector(".try")) return;
    const button = make("button", { type: "button", className: "try", textContent: "Try it" });
    button.addEventListener("click", () => open(box, button));
    box.querySelector(".anchor").after(button);
  }

  document.addEventListener("toggle", (event) => event.target.matches(".op") && offer(event.target), true);
  for (const details of document.querySelectorAll("main .op[open]")) offer(details);
  document.getElementById("try-note").classList.remove("hide");
})();
