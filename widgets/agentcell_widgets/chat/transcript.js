// The turns of a conversation. Python owns what they say; HTML in them was made safe there.

Object.assign(ICONS, {
  send: "M8 13V3M4 7l4-4 4 4",
  stop: "M4.5 4.5h7v7h-7z",
  copy: "M5.5 5.5h7v8h-7zM10.5 5.5v-3h-7v8h2",
  retry: "M13 8a5 5 0 1 1-1.5-3.6M13 2v3h-3",
  branch: "M4.5 2.5v11M4.5 9c0-3 7-1.5 7-5.5M2.9 4l1.6-1.6L6.1 4M9.9 5.1l1.6-1.6 1.6 1.6",
  insert: "M2.5 3h11v6h-11zM8 10.5v4M6 12.5h4",
  look: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8M8 6.2a1.8 1.8 0 1 0 0 3.6a1.8 1.8 0 1 0 0-3.6",
  plus: "M8 3v10M3 8h10",
});

// Characters of one text node: what a browser lays out anew for a word.
const PIECE_LENGTH = 4000;

// The list of turns in `list`; `act` does what their buttons say, and takes the focus of what goes.
function openTranscript(panel, { model, list, act }) {
  const { t } = panel;
  const articles = new Map();
  const pictures = new Map();
  let live = null;
  let widget = "";

  const near = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        near.unobserve(entry.target);
        drawPicture(entry.target);
      }
    },
    { rootMargin: "300px" },
  );
  panel.atEnd(() => near.disconnect());

  async function drawPicture(place) {
    const { key, alt } = place.agentcell;
    if (!pictures.has(key)) pictures.set(key, panel.ask("picture", { key }).catch(() => ({ type: null })));
    const found = await pictures.get(key);
    if (!place.isConnected || !panel.isOpen) return;
    if (found.type) place.replaceChildren(panel.picture(found.buffers[0], found.type, found.alt || alt));
    else place.replaceChildren(make("span", "", t("no preview")));
  }

  function figure(attachment) {
    const place = make("span", "agentcell-chat-picture");
    place.agentcell = attachment;
    near.observe(place);
    const words = make("span", "agentcell-chat-words", make("bdi", "agentcell-chat-tag", attachment.tag));
    words.append(make("span", "agentcell-quiet", attachment.detail));
    return make("span", "agentcell-chat-attachment", place, words);
  }

  function figures(attachments) {
    if (!attachments?.length) return null;
    const each = attachments.map((one) => make("li", "", figure(one)));
    return setAttributes(make("ul", "agentcell-chat-attachments", ...each), { role: "list" });
  }

  const hasFocus = (element) => element.contains(panel.root.getRootNode().activeElement);

  function folded(title, className, ...children) {
    return make("details", className, make("summary", "", title), ...children);
  }

  // The host's own typesetter, where it has one: what is marked as a formula, and nothing else.
  async function drawFormulas(answer) {
    if (!answer.querySelector(".agentcell-maths")) return;
    try {
      await model.widget_manager?.rendermime?.latexTypesetter?.typeset(answer);
    } catch {
      // It reads as it was written.
    }
  }

  // A block of code gets its two buttons.
  function equip(answer) {
    for (const link of answer.querySelectorAll("a[href]")) link.target = "_blank";
    letWideThingsScroll(answer);
    for (const block of answer.querySelectorAll("pre")) {
      const code = block.textContent.replace(/\n$/, "");
      const frame = make("div", "agentcell-chat-code");
      block.replaceWith(frame);
      const copies = button({
        drawing: "copy",
        label: t("Copy code"),
        kind: "agentcell-plain",
        press: () => copyText(panel, code, block),
      });
      const inserts = button({
        drawing: "insert",
        label: t("Insert as a cell"),
        kind: "agentcell-plain",
        press: async () => {
          if (insertCell(model, widget, code)) panel.say(t("Inserted as a new cell."));
          else if (await copyText(panel, code, block)) {
            panel.say(t("Cells cannot be inserted here; the code is copied."));
          }
        },
      });
      frame.append(block, make("span", "agentcell-chat-tools", copies, inserts));
    }
    return answer;
  }

  function callBox(call) {
    const box = make("details", "agentcell-chat-call");
    box.dataset.call = call.id;
    fillCall(box, call);
    return box;
  }

  function fillCall(box, call) {
    box.dataset.state = call.state;
    const told = call.told ? make("span", "agentcell-chat-told", call.told) : null;
    const summary = make("summary", "", make("bdi", "agentcell-chat-line", call.line), told);
    const body = make("pre", "", call.result ? `${call.body}\n\n${call.result}` : call.body);
    box.replaceChildren(...[summary, setAttributes(body, { tabindex: "0" }), figures(call.attachments)].filter(Boolean));
  }

  function problem(error) {
    const box = make("div", "agentcell-notice agentcell-error");
    box.append(make("div", "", [error.kind, error.problem].filter(Boolean).join(": ")));
    if (error.fix) box.append(make("div", "", t("Fix: {fix}", { fix: error.fix })));
    return box;
  }

  function questionBox(view) {
    const words = setAttributes(make("div", "agentcell-chat-question", view.question), { dir: "auto" });
    const from = view.from_cell ? make("span", "agentcell-quiet", t("asked in a cell")) : null;
    const head = make("header", "agentcell-chat-head", make("strong", "", t("You")), from);
    const notes = (view.notes ?? []).map((note) => make("div", "agentcell-quiet", note));
    return [head, figures(view.attachments), words, ...notes].filter(Boolean);
  }

  function tools(view) {
    const made = (drawing, label, press) =>
      button({ drawing, label: t(label), kind: "agentcell-plain", press });
    const text = view.parts.filter((part) => part.kind === "text").map((part) => part.source);
    return make(
      "span",
      "agentcell-chat-tools",
      text.length ? made("copy", "Copy the answer", () => copyText(panel, text.join("\n\n"))) : null,
      made("retry", "Retry", () => act.retry(view)),
      made("edit", "Edit", () => act.edit(view)),
      made("branch", "Branch", () => act.branch(view)),
    );
  }

  function articleOf(view) {
    const article = make("article", "agentcell-chat-turn", ...questionBox(view));
    article.dataset.turn = view.id;
    setAttributes(article, { "aria-label": view.question.slice(0, 80), "data-stale": view.stale });
    if (view.thinking) {
      const thought = setAttributes(make("div", "agentcell-chat-thought", view.thinking), { dir: "auto" });
      article.append(folded(t("Thinking"), "agentcell-chat-thinking", thought));
    }
    for (const part of view.parts) {
      if (part.kind === "call") article.append(callBox(part));
      else {
        const answer = make("div", "agentcell-chat-answer jp-RenderedHTMLCommon mathjax_ignore");
        setAttributes(answer, { dir: "auto" });
        setSafeHtml(answer, part.html);
        article.append(equip(answer));
        drawFormulas(answer);
      }
    }
    if (view.sources.length) {
      const each = view.sources.map((one) => make("li", "", one));
      article.append(folded(t("Sources"), "agentcell-chat-sources", make("ol", "", ...each)));
    }
    if (view.error) article.append(problem(view.error));
    if (view.notice) article.append(make("div", "agentcell-quiet", view.notice));
    if (view.stale) article.append(make("div", "agentcell-quiet", t("Stale: an earlier turn was asked again since.")));
    article.append(make("footer", "agentcell-chat-foot", make("span", "", view.facts), tools(view)));
    return article;
  }

  // The answer that comes: words go to the end of one text node, whatever stands before it.
  function openLive(begun) {
    const article = make("article", "agentcell-chat-turn agentcell-chat-live", ...questionBox(begun));
    setAttributes(article, { "aria-label": begun.question.slice(0, 80), "aria-busy": "true" });
    const thought = setAttributes(make("div", "agentcell-chat-thought"), { dir: "auto" });
    const thinking = folded(t("Thinking"), "agentcell-chat-thinking", thought);
    thinking.hidden = true;
    const parts = make("div", "agentcell-chat-parts");
    const asks = make("div", "agentcell-chat-asks");
    const status = make("div", "agentcell-chat-status", make("span", "agentcell-chat-dot"), make("span", "", begun.status));
    article.append(thinking, parts, asks, status);
    live = { turn: begun.turn, article, thought, thinking, parts, asks, status, words: null };
    const replaced = articles.get(begun.replaces);
    if (replaced) {
      replaced.after(article);
      replaced.classList.add("agentcell-chat-replaced");
    } else list.append(article);
    return live;
  }

  function grow(place, text) {
    const last = place.lastChild;
    if (last instanceof Text && last.length < PIECE_LENGTH) last.appendData(text);
    else place.append(document.createTextNode(text));
  }

  const heard = {
    begun(begun) {
      live?.article.remove();
      openLive(begun);
    },
    delta({ turn, text }) {
      if (live?.turn !== turn) return;
      if (!live.words) {
        live.words = setAttributes(make("div", "agentcell-chat-words-live"), { dir: "auto" });
        live.parts.append(live.words);
        live.status.lastChild.textContent = "";
      }
      grow(live.words, text);
    },
    thinking({ turn, text }) {
      if (live?.turn !== turn) return;
      live.thinking.hidden = false;
      grow(live.thought, text);
    },
    call({ turn, call }) {
      if (live?.turn !== turn) return;
      const known = [...live.parts.children].find((one) => one.dataset.call === call.id);
      if (known) fillCall(known, call);
      else live.parts.append(callBox(call));
      live.words = null;
    },
    status({ turn, text }) {
      if (live?.turn === turn) live.status.lastChild.textContent = text;
    },
    ask(question) {
      if (live?.turn !== question.turn) return;
      const box = make("div", "agentcell-chat-ask");
      setAttributes(box, { role: "group", "aria-label": question.question });
      box.dataset.ask = question.ask;
      const say = (said) => panel.attempt("answer", { ask: question.ask, said });
      box.append(make("strong", "", question.question));
      box.append(setAttributes(make("pre", "", question.text), { tabindex: "0" }));
      const yes = question.about === "call" ? "Run" : "Send";
      const buttons = make("div", "agentcell-chat-row");
      buttons.append(button({ text: t(yes), kind: "agentcell-main", press: () => say("yes") }));
      if (question.about === "call") buttons.append(button({ text: t("Always here"), press: () => say("all") }));
      buttons.append(button({ text: t("Reject"), press: () => say("no") }));
      box.append(buttons);
      live.asks.append(box);
      panel.say(question.question);
    },
    asked({ turn, ask }) {
      if (live?.turn !== turn) return;
      for (const box of [...live.asks.children]) {
        if (box.dataset.ask !== ask) continue;
        const focused = hasFocus(box);
        box.remove();
        if (focused) act.focus();
      }
    },
  };

  function put(view) {
    const article = articleOf(view);
    const known = articles.get(view.id) ?? (live?.turn === view.id ? live.article : null);
    if (known) {
      const focused = hasFocus(known);
      const thought = article.querySelector(".agentcell-chat-thinking");
      if (thought) thought.open = known.querySelector(".agentcell-chat-thinking")?.open ?? false;
      known.replaceWith(article);
      if (focused) act.focus();
    }
    else if (live) live.article.before(article);
    else list.append(article);
    if (live?.turn === view.id) live = null;
    articles.set(view.id, article);
    return article;
  }

  return {
    heard,
    set widget(name) {
      widget = name;
    },
    get count() {
      return articles.size;
    },
    get isLive() {
      return live !== null;
    },
    figure,

    clear() {
      list.replaceChildren();
      articles.clear();
      live = null;
    },

    // What changed: some turns anew, and the order of all.
    show({ order, turns }) {
      for (const view of turns) put(view);
      const wanted = new Set(order);
      for (const [id, article] of articles) {
        if (wanted.has(id)) continue;
        const focused = hasFocus(article);
        article.remove();
        articles.delete(id);
        if (focused) act.focus();
      }
      let next = list.firstElementChild;
      for (const id of order) {
        if (next && next === live?.article) next = next.nextElementSibling;
        const article = articles.get(id);
        if (!article) continue;
        if (article === next) next = next.nextElementSibling;
        else list.insertBefore(article, next);
      }
    },

    // What is on its way, for a page that was not there when it began.
    resume(begun) {
      if (!begun || articles.has(begun.turn)) return;
      openLive(begun);
      if (begun.thinking) heard.thinking({ turn: begun.turn, text: begun.thinking });
      for (const part of begun.parts) {
        if (part.kind === "call") heard.call({ turn: begun.turn, call: part });
        else heard.delta({ turn: begun.turn, text: part.text });
      }
      for (const question of begun.asks) heard.ask(question);
    },

    end({ turn, view }) {
      for (const article of articles.values()) article.classList.remove("agentcell-chat-replaced");
      if (view) put(view);
      else if (live?.turn === turn) {
        live.article.remove();
        live = null;
      }
    },
  };
}
