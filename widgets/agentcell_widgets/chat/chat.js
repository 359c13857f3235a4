// The chat's frame: its pickers, the list of turns, and where a person writes.

// Pixels from the end at which what comes is followed.
const NEAR_END = 60;

function render({ model, el }) {
  const panel = openPanel({ model, el, name: "chat", title: "Chat" });
  const { t } = panel;
  let state = { conversation: "", conversations: [], models: [], waiting: [], busy: false };
  let editing = null;
  let isSending = false;
  let cameBack = false;

  // -- the head
  const conversations = setAttributes(make("select"), { "aria-label": t("Conversation") });
  conversations.addEventListener("change", async () => {
    const done = await panel.attempt("show", { conversation: conversations.value });
    if (!done) conversations.value = state.conversation;
  });
  const begins = button({
    drawing: "plus",
    label: t("New conversation"),
    kind: "agentcell-plain",
    press: async () => {
      if (await panel.attempt("new")) words.focus();
    },
  });
  const modelList = setAttributes(make("datalist"), { id: `agentcell-models-${Math.random().toString(36).slice(2)}` });
  const models = setAttributes(make("input", "agentcell-chat-model"), {
    "aria-label": t("Model"),
    list: modelList.id,
    spellcheck: "false",
    autocomplete: "off",
    placeholder: t("Model"),
  });
  // A list shows only what begins as the field does: an empty one shows all.
  models.addEventListener("focus", () => {
    models.placeholder = state.model;
    models.value = "";
  });
  models.addEventListener("blur", () => {
    if (!models.value.trim()) models.value = state.model;
  });
  models.addEventListener("change", async () => {
    if (!models.value.trim()) return;
    const done = await panel.attempt("model", { name: models.value });
    models.value = done ? done.model : state.model;
  });
  const head = make("div", "agentcell-chat-bar", conversations, begins, models, modelList);

  // -- the turns
  const list = make("div", "agentcell-chat-list");
  const earlier = button({ press: showEarlier });
  earlier.hidden = true;
  const empty = make("p", "agentcell-chat-empty", t("Ask something. Images and PDFs can be dropped or pasted here."));
  const log = setAttributes(make("div", "agentcell-chat-log", earlier, empty, list), {
    role: "log",
    // Its end is announced, not each word.
    "aria-live": "off",
    "aria-label": t("Transcript"),
    tabindex: "0",
  });
  const transcript = openTranscript(panel, {
    model,
    list,
    act: {
      retry: (view) => panel.attempt("retry", { turn: view.id }),
      branch: (view) => panel.attempt("branch", { turn: view.id }),
      edit: beginEdit,
      focus: () => words.focus(),
    },
  });

  // -- where a person writes
  const words = setAttributes(make("textarea", "agentcell-chat-input"), {
    rows: "2",
    "aria-label": t("Your question"),
    placeholder: t("Ask …"),
    dir: "auto",
  });
  panel.home = words;
  words.addEventListener("input", fit);
  words.addEventListener("keydown", (event) => {
    // While a word is composed (Chinese, Japanese, …) Enter takes it, and sends nothing.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    send();
  });
  const strip = setAttributes(make("ul", "agentcell-chat-strip"), {
    role: "list",
    "aria-label": t("Attached to the next question"),
  });
  const uploads = make("div");
  const editLine = make("div", "agentcell-chat-editing");
  editLine.hidden = true;
  editLine.append(
    make("span", "", t("You edit an earlier question: it is asked in a new conversation.")),
    button({ text: t("Leave it"), kind: "agentcell-plain", press: endEdit }),
  );
  const takes = (files, failed) => sendFiles(panel, files, uploads, failed);
  const attaches = fileButton({
    label: t("Attach files"),
    accept: "image/*,application/pdf,.pdf",
    take: takes,
    kind: "agentcell-plain",
  });
  const looks = button({ drawing: "look", label: t("What would be sent"), kind: "agentcell-plain", press: dryRun });
  const sends = button({ text: t("Send"), drawing: "send", kind: "agentcell-main", press: send });
  const stops = button({ text: t("Stop"), drawing: "stop", kind: "agentcell-chat-stop", press: stop });
  stops.hidden = true;
  const hint = make("span", "agentcell-quiet agentcell-chat-hint", t("Enter sends · Shift+Enter breaks the line · Esc stops"));
  const row = make("div", "agentcell-chat-row", attaches, looks, hint, stops, sends);
  const cost = make("div", "agentcell-quiet agentcell-chat-cost");
  const composer = make("div", "agentcell-chat-composer", editLine, strip, uploads, words, row);
  panel.body.append(head, log, composer, cost);
  takeFiles(panel, panel.root, takes);

  panel.root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing || event.target.closest("dialog")) return;
    if (state.busy) stop();
    else if (editing) endEdit();
  });

  function fit() {
    words.style.height = "auto";
    words.style.height = `${Math.min(words.scrollHeight + 2, 240)}px`;
  }

  // -- what a person does
  async function send() {
    const text = words.value;
    if (isSending || !text.trim()) return;
    isSending = true;
    cameBack = false;
    const done = editing
      ? await panel.attempt("edit", { turn: editing.id, text })
      : await panel.attempt("submit", { text });
    isSending = false;
    if (!done) return;
    if (words.value === text && !cameBack) words.value = "";
    if (editing?.question !== words.value || !cameBack) endEdit();
    fit();
    follow(true);
  }

  function stop() {
    stops.lastChild.textContent = t("Stopping …");
    panel.attempt("stop");
  }

  function beginEdit(view) {
    editing = view;
    words.value = view.question;
    editLine.hidden = false;
    fit();
    words.focus();
  }

  function endEdit() {
    if (editing && words.value === editing.question) words.value = "";
    editing = null;
    editLine.hidden = true;
    fit();
  }

  async function dryRun() {
    const found = await panel.attempt("dry-run", { text: words.value });
    if (!found) return;
    panel.say("");
    const rows = found.rows.map(([name, value]) =>
      make("tr", "", setAttributes(make("th", "", name), { scope: "row" }), make("td", "", value)),
    );
    const box = make("div", "agentcell-chat-dry");
    box.append(make("p", "", t("Nothing was sent.")));
    if (found.refusal) {
      box.append(make("div", "agentcell-notice agentcell-error", t("It cannot be sent: {reason}", { reason: found.refusal })));
    }
    box.append(make("table", "", make("tbody", "", ...rows)));
    if (found.request) {
      const body = setAttributes(make("pre", "", found.request), { tabindex: "0" });
      box.append(make("details", "", make("summary", "", t("The request as sent")), body));
    }
    openDialog(panel, { label: t("What would be sent"), content: box });
  }

  async function showEarlier() {
    const height = log.scrollHeight;
    const reply = await panel.attempt("earlier");
    if (!reply?.turns) return;
    showTurns(reply.turns);
    log.scrollTop += log.scrollHeight - height;
  }

  // -- what Python says
  const isAtEnd = () => frames > 0 || log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_END;
  // For some, since turns get their heights when they are first seen.
  let frames = 0;
  const toEnd = () => {
    log.scrollTop = log.scrollHeight;
    frames -= 1;
    if (frames > 0 && panel.isOpen) requestAnimationFrame(toEnd);
  };
  const follow = (wanted) => {
    if (!wanted) return;
    if (frames <= 0) requestAnimationFrame(toEnd);
    frames = 4;
  };

  function showTurns(told) {
    const isOther = told.conversation !== list.dataset.conversation;
    const wasAtEnd = isOther || isAtEnd();
    if (isOther) transcript.clear();
    list.dataset.conversation = told.conversation;
    transcript.show(told);
    earlier.hidden = !(told.more > 0);
    earlier.textContent = t("Show earlier turns ({count})", { count: told.more });
    empty.hidden = transcript.count > 0 || transcript.isLive;
    follow(wasAtEnd);
  }

  function showState(told) {
    state = told;
    conversations.replaceChildren(...told.conversations.map((name) => choiceOf(name)));
    conversations.value = told.conversation;
    if (models !== panel.root.getRootNode().activeElement) models.value = told.model;
    if (modelList.childElementCount !== told.models.length) {
      modelList.replaceChildren(...told.models.map((name) => new Option(name, name)));
    }
    const focused = panel.root.getRootNode().activeElement;
    stops.hidden = !told.busy;
    sends.hidden = told.busy;
    if (!told.busy) stops.lastChild.textContent = t("Stop");
    if (focused === stops && !told.busy) words.focus();
    if (focused === sends && told.busy) stops.focus();
    panel.root.classList.toggle("agentcell-chat-busy", told.busy);
    cost.textContent = told.cost;
    showWaiting(told.waiting);
    if (told.fault) panel.say(told.fault, { isError: true });
  }

  function showWaiting(waiting) {
    const key = waiting.map((one) => one.tag).join("\n");
    if (strip.dataset.shown === key) return;
    strip.dataset.shown = key;
    strip.replaceChildren(
      ...waiting.map((one) => {
        const takesBack = button({
          drawing: "close",
          label: t("Take back {tag}", { tag: one.tag }),
          kind: "agentcell-plain",
          press: async () => {
            const { tag } = one;
            const reply = await panel.attempt("withdraw", { tag });
            if (!reply) return;
            panel.say(reply.notice, { takeBack: () => panel.attempt("bring-back", { tag }) });
            words.focus();
          },
        });
        return make("li", "", transcript.figure(one), takesBack);
      }),
    );
  }

  for (const [kind, hear] of Object.entries(transcript.heard)) {
    panel.on(kind, (told) => {
      const wasAtEnd = kind === "begun" || isAtEnd();
      hear(told);
      empty.hidden = transcript.count > 0 || transcript.isLive;
      if (kind === "begun") panel.say(told.status);
      follow(wasAtEnd);
    });
  }
  panel.on("turns", showTurns);
  panel.on("state", showState);
  panel.on("refused", ({ text, error }) => {
    giveBack(text);
    if (error) panel.fail(error);
    else panel.say(t("The answer was stopped."));
  });
  panel.on("ended", (told) => {
    const wasAtEnd = isAtEnd();
    transcript.end(told);
    giveBack(told.text);
    if (!told.view && told.error) panel.fail(told.error);
    else panel.say(told.view?.notice || t(ENDS[told.view?.status] ?? ENDS.interrupted));
    follow(wasAtEnd);
  });

  // What could not be asked comes back, perhaps before the answer to its sending does.
  function giveBack(text) {
    if (!text) return;
    cameBack = true;
    if (!words.value) words.value = text;
    fit();
  }

  panel.attempt("hello").then((told) => {
    if (!told || !panel.isOpen) return;
    transcript.widget = told.widget;
    showState(told);
    if (told.turns) showTurns(told.turns);
    transcript.resume(told.live);
    follow(true);
  });
  return () => panel.close();
}

const ENDS = {
  complete: "The answer is complete.",
  interrupted: "The answer was stopped.",
  failed: "The answer failed.",
};

export default { render };
