// What the pages of all panels share. It is put before each panel's own file (see source.py), so
// these names are there without an import. No template literal may run over several lines.

const SOON = 1500; // milliseconds until a person is told that the kernel is waited for

const ICONS = {
  close: "M4 4l8 8M12 4l-8 8",
  previous: "M10 3L5 8l5 5",
  next: "M6 3l5 5-5 5",
  up: "M3 10l5-5 5 5",
  down: "M3 6l5 5 5-5",
  zoom: "M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9M10.5 10.5L14 14M5 7h4M7 5v4",
  edit: "M3 13l.8-3L10.5 3.3l2.2 2.2L6 12.2zM9.3 4.5l2.2 2.2",
  attach: "M12.5 7.5l-5 5a3 3 0 0 1-4.2-4.2l5.5-5.5a2 2 0 0 1 2.9 2.9l-5.4 5.4a1 1 0 0 1-1.4-1.4l4.9-4.9",
  page: "M4 2h5l3 3v9H4zM9 2v3h3",
  undo: "M6 3L3 6l3 3M3 6h6a4 4 0 0 1 0 8H7",
  forget: "M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5M7 7v4M9 7v4",
  save: "M8 2v8M5 7l3 3 3-3M3 13h10",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9M10.5 10.5L14 14",
};

// An element with its class and children; a text becomes a text node, never markup.
function make(name, className = "", ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  return element;
}

function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const drawing = document.createElementNS(space, "svg");
  setAttributes(drawing, { viewBox: "0 0 16 16", "aria-hidden": "true", class: "agentcell-icon" });
  const line = document.createElementNS(space, "path");
  line.setAttribute("d", ICONS[name]);
  drawing.append(line);
  return drawing;
}

// A button with words, an icon, or both; `label` is what a screen reader says.
function button({ text = "", label = "", drawing = "", kind = "", press }) {
  const made = make("button", `agentcell-button ${kind}`.trim());
  made.type = "button";
  if (drawing) made.append(icon(drawing));
  if (text) made.append(make("span", "", text));
  if (label) setAttributes(made, { "aria-label": label, title: text ? null : label });
  made.addEventListener("click", () => {
    if (!isOff(made)) press(made);
  });
  return made;
}

// `disabled` would drop the focus; a button that is off keeps it and says so.
function setOff(element, off) {
  setAttributes(element, { "aria-disabled": off ? "true" : null });
}

function isOff(element) {
  return element.getAttribute("aria-disabled") === "true";
}

// A choice in a list, of a name that anybody may have given: one short line. Its value is the whole.
const LONGEST_CHOICE = 60;

function choiceOf(name, more = "") {
  const line = [...name.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim()];
  const text = line.length > LONGEST_CHOICE ? `${line.slice(0, LONGEST_CHOICE - 1).join("")}…` : line.join("");
  return new Option(`${text || "“ ”"}${more}`, name);
}

// Tables and code may be wider than the panel: each scrolls by itself, also by keys.
function letWideThingsScroll(answer) {
  for (const table of answer.querySelectorAll("table")) {
    const frame = setAttributes(make("div", "agentcell-wide"), { tabindex: "0" });
    table.replaceWith(frame);
    frame.append(table);
  }
  for (const block of answer.querySelectorAll("pre")) block.setAttribute("tabindex", "0");
}

// The only place where HTML is parsed. It must have been made safe in Python.
function setSafeHtml(element, html) {
  element.innerHTML = html;
}

class PanelError extends Error {
  constructor(problem, fix = "") {
    super(problem);
    this.problem = problem;
    this.fix = fix;
  }
}

// A panel's frame, its sentences, and its line to Python. `name` is the class's NAME.
function openPanel({ model, el, name, title }) {
  const texts = model.get("texts") ?? {};
  const t = (sentence, facts = {}) =>
    (texts[sentence] ?? sentence).replace(/\{([a-z_]+)\}/g, (whole, key) => String(facts[key] ?? whole));

  const root = make("section", `agentcell-panel agentcell-${name}`);
  setAttributes(root, {
    "aria-label": t(title),
    lang: model.get("language") || null,
    tabindex: "-1", // takes the focus for a paste
    "data-lm-suppress-shortcuts": "true", // JupyterLab's keys are not meant for what is in here
  });
  const keep = (event) => event.stopPropagation();
  const kept = ["keydown", "keyup", "keypress", "paste", "copy", "cut", "contextmenu"];
  for (const kind of kept) root.addEventListener(kind, keep);

  const body = make("div", "agentcell-panel-body");
  const notice = setAttributes(make("div", "agentcell-notice"), { role: "status" });
  const waitingLine = make("div", "agentcell-waiting", t("Waiting for the kernel …"));
  waitingLine.hidden = true;
  root.append(body, waitingLine, notice);
  el.append(root);

  const session = Math.random().toString(36).slice(2) + Date.now().toString(36);
  const waiting = new Map();
  const listeners = new Map();
  const endings = [];
  const addresses = new Map();
  let count = 0;
  let isOpen = true;

  const showWaiting = () => {
    const now = Date.now();
    const late = [...waiting.values()].some((one) => now - one.since >= SOON);
    waitingLine.hidden = !late;
  };

  // With a restart of the kernel the line to Python is gone for good, whatever is still to be seen.
  const ended = () => new PanelError(t("This panel ended with its kernel."), t("run its cell again."));
  const canSend = () => {
    try {
      model.send({ kind: "" });
      return true;
    } catch {
      return false;
    }
  };
  const end = () => {
    for (const one of waiting.values()) {
      clearTimeout(one.timer);
      one.reject(ended());
    }
    waiting.clear();
    showWaiting();
    panel.fail(ended());
  };
  const checks = new Set();
  const check = () => {
    for (const delay of [0, 500, 3000]) checks.add(setTimeout(() => isOpen && !canSend() && end(), delay));
  };
  model.on("comm_live_update", check);
  endings.push(() => {
    model.off("comm_live_update", check);
    for (const one of checks) clearTimeout(one);
  });

  const hear = (content, buffers = []) => {
    if (!content || typeof content !== "object") return;
    if (content.kind === "reply") {
      const one = waiting.get(content.id);
      if (!one) return; // another view's
      waiting.delete(content.id);
      clearTimeout(one.timer);
      showWaiting();
      if (content.ok) one.resolve({ ...content.payload, buffers });
      else one.reject(new PanelError(content.problem, content.fix));
      return;
    }
    for (const listener of listeners.get(content.kind) ?? []) listener({ ...content.payload, buffers });
  };
  model.on("msg:custom", hear);
  endings.push(() => model.off("msg:custom", hear));

  const panel = {
    root,
    body,
    t,
    takeBack: null,
    get isOpen() {
      return isOpen;
    },

    // Ask Python; the promise gives the payload (its bytes in `buffers`), or fails as a PanelError.
    ask(kind, payload = {}, buffers = []) {
      count += 1;
      const id = `${session}-${count}`;
      return new Promise((resolve, reject) => {
        try {
          model.send({ kind, id, payload }, undefined, buffers);
        } catch {
          reject(ended());
          return;
        }
        const timer = setTimeout(showWaiting, SOON + 20);
        waiting.set(id, { resolve, reject, timer, since: Date.now() });
      });
    },

    // Call `listener` with the payload of each event of a kind.
    on(kind, listener) {
      listeners.set(kind, [...(listeners.get(kind) ?? []), listener]);
    },

    // Call `end` when the view goes away.
    atEnd(end) {
      endings.push(end);
    },

    // Where it is said what happened: below all, unless a panel puts it nearer to its buttons.
    notice,

    // Say what happened, to a screen reader too; `takeBack` undoes it.
    say(text, { isError = false, takeBack = null } = {}) {
      notice.textContent = text;
      notice.classList.toggle("agentcell-error", isError);
      panel.takeBack = takeBack;
      if (takeBack) notice.append(" ", button({ text: t("Undo"), drawing: "undo", press: panel.undo }));
    },

    // Take back what was said last, once.
    undo() {
      const { takeBack } = panel;
      panel.takeBack = null;
      takeBack?.();
    },

    fail(...errors) {
      if (!isOpen) return;
      const lines = errors.map((error) => {
        const fix = error.fix ? ` ${t("Fix: {fix}", { fix: error.fix })}` : "";
        return `${error.problem ?? error}${fix}`;
      });
      panel.say(lines.join("\n"), { isError: true });
    },

    // Ask and show what came of it: the reply's `notice`, or the error. Gives the reply, or null.
    async attempt(kind, payload = {}, buffers = []) {
      try {
        const reply = await panel.ask(kind, payload, buffers);
        if (reply.notice !== undefined) panel.say(reply.notice);
        return reply;
      } catch (error) {
        panel.fail(error);
        notice.scrollIntoView({ block: "nearest" });
        return null;
      }
    },

    // A picture of bytes; `forgetPicture` gives their memory back, as the end of the view does.
    picture(bytes, type, alt) {
      const made = make("img");
      const address = URL.createObjectURL(new Blob([bytes], { type }));
      addresses.set(made, address);
      made.src = address;
      made.alt = alt;
      made.draggable = false;
      return made;
    },

    forgetPicture(made) {
      if (addresses.has(made)) URL.revokeObjectURL(addresses.get(made));
      addresses.delete(made);
    },

    close() {
      isOpen = false;
      for (const end of endings) end();
      for (const one of waiting.values()) clearTimeout(one.timer);
      waiting.clear();
      for (const address of addresses.values()) URL.revokeObjectURL(address);
      addresses.clear();
      root.remove();
    },
  };
  panel.on("trouble", (payload) => panel.fail(payload));
  root.addEventListener("keydown", (event) => {
    const isUndo = event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey;
    if (!isUndo || !panel.takeBack || isWritten(event.target)) return; // a field undoes by itself
    event.preventDefault();
    panel.undo();
  });
  keepFocus(panel);
  return panel;
}

// What had the focus may be hidden or go away; the keyboard then goes on at `panel.home`.
function keepFocus(panel) {
  const { root } = panel;
  const isThere = (element) => root.contains(element) && element.checkVisibility();
  let last = null;
  root.addEventListener("focusin", (event) => {
    last = event.target;
  });
  root.addEventListener("focusout", (event) => {
    const left = event.target;
    setTimeout(() => {
      if (last === left && isThere(left)) last = null; // it was left by the person
    });
  });
  const watcher = new MutationObserver(() => {
    if (!last || isThere(last)) return;
    const active = root.getRootNode().activeElement;
    if (active && active !== document.body && active !== last && active !== root.getRootNode().host) return;
    last = null;
    (panel.home ?? root).focus();
  });
  watcher.observe(root, { childList: true, subtree: true, attributes: true, attributeFilter: ["hidden"] });
  panel.atEnd(() => watcher.disconnect());
}

// A dialog over the page; Escape, its button and a click beside it close it, the focus returns.
function openDialog(panel, { label, content, closed = () => {} }) {
  const back = panel.root.getRootNode().activeElement;
  const dialog = setAttributes(make("dialog", "agentcell-dialog"), { "aria-label": label });
  const shut = button({
    drawing: "close",
    label: panel.t("Close"),
    kind: "agentcell-plain",
    press: () => dialog.close(),
  });
  dialog.append(make("header", "", make("strong", "", label), shut), content);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    closed();
    if (back?.isConnected) back.focus();
  });
  panel.atEnd(() => dialog.remove());
  panel.root.append(dialog);
  dialog.showModal();
  return dialog;
}
