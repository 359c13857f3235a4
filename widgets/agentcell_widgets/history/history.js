// The list of turns, and one of them in detail. See __init__.py beside it.

function whenOf(seconds, language) {
  if (!seconds) return "";
  const when = new Date(seconds * 1000);
  const isToday = when.toDateString() === new Date().toDateString();
  const options = isToday
    ? { hour: "2-digit", minute: "2-digit" }
    : { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" };
  return new Intl.DateTimeFormat(language || undefined, options).format(when);
}

function drawRow(panel, row, language) {
  const marks = [...row.marks, row.state].filter(Boolean).map((mark) => make("span", "agentcell-mark", mark));
  return [
    make(
      "div",
      "agentcell-row-head",
      make("bdi", "agentcell-row-name", row.name),
      ...marks,
      make("span", "agentcell-row-when", whenOf(row.at, language)),
    ),
    make("bdi", "agentcell-row-question", row.question),
    make("bdi", "agentcell-row-answer", row.answer || panel.t("No answer.")),
  ];
}

function render({ model, el }) {
  const panel = openPanel({ model, el, name: "history", title: "History" });
  panel.prefix = `agentcell-turn-${Math.random().toString(36).slice(2)}`;
  const { t } = panel;
  const language = model.get("language");
  let chosen = "";
  let version = -1;

  const title = setAttributes(make("h3"), { tabindex: "-1" });
  const found = make("span", "agentcell-quiet");
  const words = setAttributes(make("input", "agentcell-search"), {
    type: "search",
    placeholder: t("Search"),
    "aria-label": t("Search"),
    spellcheck: "false",
  });
  panel.home = words;
  const conversation = setAttributes(make("select"), { "aria-label": t("Conversation") });
  const gone = setAttributes(make("input"), { type: "checkbox" });
  const goneLabel = make("label", "agentcell-check", gone, t("replaced and taken back too"));
  const undo = button({
    text: t("Take back the last"),
    drawing: "undo",
    press: async () => {
      setOff(undo, true);
      await panel.attempt("undo", { conversation: conversation.value });
      setOff(undo, false);
    },
  });

  const fetch = (first, count) =>
    panel.ask("rows", { conversation: conversation.value, search: words.value, gone: gone.checked, first, count });
  const rows = windowedList(panel, {
    label: t("Turns"),
    fetch,
    draw: (row) => drawRow(panel, row, language),
    choose: (row) => open(row.id),
  });
  const nothing = make("p", "agentcell-nothing");
  const detail = setAttributes(make("article", "agentcell-detail"), { tabindex: "0", "aria-live": "polite" });
  detail.append(make("p", "agentcell-quiet", t("Choose a turn to read it.")));

  const path = setAttributes(make("input"), {
    type: "text",
    value: "",
    placeholder: "answers.md · .html · .ipynb",
    "aria-label": t("File to export to"),
    spellcheck: "false",
  });
  const overwrite = setAttributes(make("input"), { type: "checkbox" });
  const send = make("button", "agentcell-button", icon("save"), t("Export"));
  send.type = "submit";
  const form = make("form", "agentcell-export", path, make("label", "agentcell-check", overwrite, t("replace it")), send);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (isOff(send)) return;
    setOff(send, true);
    await panel.attempt("export", { path: path.value, conversation: conversation.value, overwrite: overwrite.checked });
    setOff(send, false);
  });

  const runs = make("details", "agentcell-runs");
  panel.body.append(
    make("header", "agentcell-top", title, found),
    make("div", "agentcell-tools", words, conversation, goneLabel, undo),
    make("div", "agentcell-both", make("div", "agentcell-listing", rows.list, nothing), detail),
    form,
    runs,
  );

  async function open(id) {
    chosen = id;
    let turn;
    try {
      turn = await panel.ask("turn", { id });
    } catch (error) {
      if (chosen === id) closeDetail();
      panel.fail(error);
      return;
    }
    const told = JSON.stringify(turn);
    if (chosen !== id || detail.told === told) return; // whoever reads it is not disturbed
    detail.told = told;
    const answer = make("div", "agentcell-answer");
    setAttributes(answer, { dir: "auto" });
    if (turn.html) {
      setSafeHtml(answer, turn.html);
      letWideThingsScroll(answer);
    } else answer.textContent = turn.error || t("No answer.");
    const question = setAttributes(make("div", "agentcell-question", turn.text), { dir: "auto" });
    const restore = button({
      text: t("Restore"),
      drawing: "undo",
      press: () => change(restore, "restore", { name: id }),
    });
    restore.hidden = !turn.state;
    const forget = button({ text: t("Forget"), drawing: "forget", press: () => ask() });
    const really = button({
      text: t("Delete for good?"),
      drawing: "forget",
      kind: "agentcell-danger",
      press: () => change(really, "forget", { id }),
    });
    const cancel = button({ text: t("Cancel"), press: () => stay() });
    really.hidden = cancel.hidden = true;
    const ask = () => {
      forget.hidden = true;
      really.hidden = cancel.hidden = false;
      really.focus();
    };
    const stay = () => {
      forget.hidden = false;
      really.hidden = cancel.hidden = true;
      forget.focus();
    };
    const marks = [...turn.marks, turn.state].filter(Boolean).map((mark) => make("span", "agentcell-mark", mark));
    const parts = [
      make("header", "agentcell-detail-head", make("h4", "", make("bdi", "", turn.name)), ...marks,
        make("span", "agentcell-row-when", whenOf(turn.at, language))),
      make("h5", "", t("Question")),
      question,
      turn.tags.length ? make("p", "agentcell-quiet", t("with {tags}", { tags: turn.tags.join(", ") })) : null,
      turn.calls.length ? make("p", "agentcell-quiet", t("tools: {names}", { names: turn.calls.join(", ") })) : null,
      make("h5", "", t("Answer")),
      answer,
      turn.error && turn.html ? make("p", "agentcell-wrong", turn.error) : null,
      make("p", "agentcell-quiet", turn.facts),
      make("div", "agentcell-detail-actions", restore, forget, really, cancel),
    ];
    detail.replaceChildren(...parts.filter(Boolean));
    detail.scrollTop = 0;
  }

  async function change(pressed, kind, payload) {
    setOff(pressed, true);
    const done = await panel.attempt(kind, payload);
    setOff(pressed, false);
    if (done) {
      closeDetail();
      rows.list.focus();
    }
  }

  function closeDetail() {
    chosen = "";
    detail.told = "";
    detail.replaceChildren(make("p", "agentcell-quiet", t("Choose a turn to read it.")));
  }

  const showFound = () => {
    const isSearch = Boolean(words.value.trim());
    found.textContent = isSearch ? t("{count} found", { count: rows.total.toLocaleString(language || undefined) }) : "";
    nothing.hidden = rows.total > 0;
    rows.list.hidden = rows.total === 0;
    nothing.textContent = isSearch ? t("Nothing was found.") : t("No turns yet.");
  };
  rows.list.addEventListener("agentcell-total", showFound);

  const show = async (state) => {
    if (state.version <= version) return;
    version = state.version;
    title.textContent = t("History ({count})", { count: state.count.toLocaleString(language || undefined) });
    const now = conversation.value;
    conversation.replaceChildren(
      new Option(t("All conversations"), ""),
      ...state.conversations.map((one) => choiceOf(one.name, ` (${one.count})`)),
    );
    conversation.value = state.conversations.some((one) => one.name === now) ? now : "";
    setOff(undo, state.count === 0);
    runs.hidden = state.runs.length === 0;
    runs.replaceChildren(
      make("summary", "", t("Earlier lives of this kernel")),
      make("ul", "", ...state.runs.map((run) => {
        const restore = button({
          text: t("Restore"),
          label: t("Restore {name}", run),
          press: () => change(restore, "restore", { name: run.name }),
        });
        const about = `${run.name} · ${t("{count} turns", run)} · `;
        return make("li", "", restore, make("span", "", about, make("bdi", "", run.question)));
      })),
    );
    await rows.reload();
    showFound();
    if (chosen) open(chosen);
  };

  let timer = 0;
  words.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => rows.reload({ top: true }).then(showFound), 200);
  });
  for (const input of [conversation, gone]) {
    input.addEventListener("change", () => rows.reload({ top: true }).then(showFound));
  }
  panel.atEnd(() => clearTimeout(timer));
  panel.on("state", show);
  panel.ask("hello").then(show, (error) => panel.fail(error));
  return () => panel.close();
}

export default { render };
