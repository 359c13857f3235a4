// The form for a wish, what is on the way, what was not finished, and the results.

const TITLE = "Pictures and clips";
const SIZES = ["1024x1024", "1536x1024", "1024x1536"];
const ASPECTS = ["16:9", "9:16", "1:1"];
const PICTURES = "image/*";

function field(label, control, hint = "") {
  const made = make("label", "agentcell-generation-field", make("span", "", label), control);
  if (hint) control.placeholder = hint;
  return made;
}

function choices(values, texts = values) {
  const made = make("select");
  values.forEach((value, index) => {
    const option = make("option", "", texts[index]);
    option.value = value;
    made.append(option);
  });
  return made;
}

function listOf(id, values) {
  const made = setAttributes(make("datalist"), { id });
  for (const value of values) {
    const option = make("option");
    option.value = value;
    made.append(option);
  }
  return made;
}

// Children by id are kept, so that focus and pictures stay where they are.
function keepChildren(place, cards, draw, update) {
  const old = new Map([...place.children].map((child) => [child.dataset.id, child]));
  const next = cards.map((card) => {
    const made = old.get(card.id) ?? draw(card);
    made.dataset.id = card.id;
    update(made, card);
    return made;
  });
  const keep = new Set(next);
  for (const child of [...place.children]) if (!keep.has(child)) child.remove();
  next.forEach((child, index) => {
    if (place.children[index] !== child) place.insertBefore(child, place.children[index] ?? null);
  });
}

function section(panel, title) {
  const list = setAttributes(make("ul", "agentcell-generation-list"), { role: "list" });
  const head = make("h3", "", panel.t(title));
  const made = setAttributes(make("section", "", head, list), { "aria-label": panel.t(title) });
  return { made, list, head };
}

function render({ model, el }) {
  const panel = openPanel({ model, el, name: "generation", title: TITLE });
  const t = panel.t;
  let state = { references: [], runs: [], jobs: [], results: [], makers: [], mask: "" };
  let heard = Date.now();

  // -- the form ---------------------------------------------------------------------------
  const unique = Math.random().toString(36).slice(2);
  const prompt = setAttributes(make("textarea", "agentcell-generation-prompt"), { rows: 3 });
  panel.home = prompt;
  const kind = choices(["image", "video"], [t("Picture"), t("Clip")]);
  const maker = setAttributes(make("input"), { list: `makers-${unique}`, autocomplete: "off" });
  const makers = listOf(`makers-${unique}`, []);
  const size = setAttributes(make("input"), { list: `sizes-${unique}`, autocomplete: "off" });
  const count = setAttributes(make("input"), { type: "number", min: 1, max: 8, value: 1 });
  const format = choices(["png", "webp", "jpeg"]);
  const seconds = setAttributes(make("input"), { type: "number", min: 1, max: 60 });
  const aspect = setAttributes(make("input"), { list: `aspects-${unique}`, autocomplete: "off" });
  const seed = setAttributes(make("input"), { inputmode: "numeric", autocomplete: "off" });
  const forPictures = [
    field(t("Size"), size, t("by itself")),
    field(t("Count"), count),
    field(t("Format"), format),
  ];
  const forClips = [
    field(t("Seconds"), seconds, t("by itself")),
    field(t("Aspect"), aspect, t("by itself")),
  ];
  const options = make(
    "div",
    "agentcell-generation-options",
    field(t("Kind"), kind),
    field(t("Maker"), maker, t("automatic")),
    ...forPictures,
    ...forClips,
    field(t("Seed"), seed, t("by itself")),
    makers,
    listOf(`sizes-${unique}`, SIZES),
    listOf(`aspects-${unique}`, ASPECTS),
  );
  const showKind = () => {
    const isClip = kind.value === "video";
    for (const one of forPictures) one.hidden = isClip;
    for (const one of forClips) one.hidden = !isClip;
  };
  kind.addEventListener("change", showKind);
  showKind();

  // -- pictures to start from -------------------------------------------------------------
  const references = setAttributes(make("ul", "agentcell-generation-references"), { role: "list" });
  const uploads = make("div");
  const take = (files, failed) => sendFiles(panel, files, uploads, failed);
  const add = fileButton({ text: t("Add pictures"), accept: PICTURES, take });
  const start = setAttributes(
    make("div", "agentcell-generation-start", make("span", "agentcell-quiet", t("Start from")), references, add),
    { role: "group", "aria-label": t("Start from") },
  );

  async function fill(holder, of, id, alt, side = 320) {
    try {
      const { buffers, type } = await panel.ask("picture", { of, id, side });
      if (!panel.isOpen) return;
      const picture = panel.picture(buffers[0], type, alt);
      for (const old of holder.querySelectorAll("img")) panel.forgetPicture(old);
      holder.replaceChildren(picture);
    } catch {
      holder.replaceChildren(make("span", "agentcell-quiet", t("No picture can be shown.")));
    }
  }

  async function putAway(kind, payload = {}) {
    const reply = await panel.attempt(kind, payload);
    if (reply) panel.say(reply.notice, { takeBack: () => panel.attempt("bring-back", { put: reply.put }) });
  }

  function drawReference(card) {
    const holder = make("div", "agentcell-generation-small");
    fill(holder, "reference", card.id, card.name, 128);
    const mask = button({
      drawing: "edit",
      label: t("Paint what may change"),
      kind: "agentcell-plain",
      press: async () => {
        try {
          const { buffers, type } = await panel.ask("picture", { of: "reference", id: card.id, side: 900 });
          const done = async (file) => {
            try {
              const reply = await sendFile(panel, file, { extra: { role: "mask", reference: card.id } });
              panel.say(reply.notice);
            } catch (error) {
              panel.fail(error);
            }
          };
          openMask(panel, { reference: card, bytes: buffers[0], type, done });
        } catch (error) {
          panel.fail(error);
        }
      },
    });
    const unmask = button({
      text: t("Mask"),
      drawing: "close",
      label: t("Remove the mask"),
      press: () => putAway("unmask"),
    });
    unmask.classList.add("agentcell-generation-unmask");
    const remove = button({
      drawing: "close",
      label: t("Remove {name}", { name: card.name }),
      kind: "agentcell-plain",
      press: async () => {
        await putAway("remove", { reference: card.id });
        add.querySelector("button").focus();
      },
    });
    return make("li", "agentcell-generation-reference", holder, make("bdi", "", card.name), mask, unmask, remove);
  }

  // -- send -------------------------------------------------------------------------------
  const question = make("span");
  const agree = button({ text: t("Generate anyway"), kind: "agentcell-main", press: () => send(question.textContent) });
  const decline = button({
    text: t("Not now"),
    press: () => {
      asks.hidden = true;
      go.focus();
    },
  });
  const asks = setAttributes(make("div", "agentcell-generation-asks", question, agree, decline), { role: "group" });
  asks.hidden = true;
  const go = button({ text: t("Generate"), kind: "agentcell-main", press: () => send("") });
  let isSending = false;
  const withdraw = () => {
    asks.hidden = true; // what was asked about is not what stands there now
  };

  async function send(agreed) {
    if (isSending) return;
    isSending = true;
    setOff(go, true);
    asks.hidden = true;
    const reply = await panel.attempt("generate", {
      prompt: prompt.value,
      what: kind.value,
      model: maker.value,
      size: size.value,
      count: Number(count.value || 1),
      format: format.value,
      seconds: Number(seconds.value || 0),
      aspect: aspect.value,
      seed: seed.value,
      agreed,
    });
    isSending = false;
    setOff(go, false);
    if (reply?.question) {
      question.textContent = reply.question;
      agree.querySelector("span").textContent = reply.price
        ? t("Generate for {price}", { price: reply.price })
        : t("Generate anyway");
      asks.hidden = false;
      agree.focus();
    }
  }
  for (const control of [prompt, options]) control.addEventListener("input", withdraw);
  asks.addEventListener("keydown", (event) => {
    if (event.key === "Escape") withdraw();
  });
  prompt.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    send("");
  });

  // -- what is on the way -----------------------------------------------------------------
  const running = section(panel, "On the way");
  const seenPreviews = new Map();

  function drawRun(card) {
    const holder = make("div", "agentcell-generation-small");
    holder.hidden = true;
    const bar = setAttributes(make("progress"), { max: 1, "aria-label": card.prompt });
    const says = make("span", "agentcell-generation-says agentcell-quiet");
    const stop = button({
      text: t("Stop"),
      label: t("Stop {prompt}", { prompt: card.prompt }),
      press: () => panel.attempt("stop", { run: card.id }),
    });
    stop.classList.add("agentcell-generation-stop");
    const dismiss = button({
      drawing: "close",
      label: t("Dismiss {prompt}", { prompt: card.prompt }),
      kind: "agentcell-plain agentcell-generation-dismiss",
      press: async () => {
        await panel.attempt("dismiss", { run: card.id });
        prompt.focus();
      },
    });
    const words = make("div", "agentcell-generation-words", make("bdi", "", card.prompt), bar, says);
    return make("li", "agentcell-generation-run", holder, words, stop, dismiss);
  }

  function showRun(item, card) {
    const bar = item.querySelector("progress");
    if (card.part === null) bar.removeAttribute("value");
    else bar.value = card.part;
    bar.hidden = card.isOver;
    item.querySelector(".agentcell-generation-stop").hidden = card.isOver;
    item.querySelector(".agentcell-generation-dismiss").hidden = !card.isOver;
    item.classList.toggle("agentcell-error", Boolean(card.problem));
    showSeconds(item, card);
    const holder = item.querySelector(".agentcell-generation-small");
    if (card.isOver) holder.hidden = true;
    else if (card.previews && seenPreviews.get(card.id) !== card.previews) {
      seenPreviews.set(card.id, card.previews);
      holder.hidden = false;
      fill(holder, "run", card.id, t("preview of {prompt}", { prompt: card.prompt }), 256);
    }
  }

  function showSeconds(item, card) {
    const more = card.isOver ? 0 : Math.floor((Date.now() - heard) / 1000);
    const fix = card.fix ? ` ${t("Fix: {fix}", { fix: card.fix })}` : "";
    const said = card.problem
      ? `${card.problem}${fix}`
      : t("{state} · {seconds} s", { state: card.state, seconds: card.seconds + more });
    const place = item.querySelector(".agentcell-generation-says");
    if (place.textContent !== said) place.textContent = said;
  }
  const tick = setInterval(() => {
    for (const card of state.runs) {
      const item = running.list.querySelector(`[data-id="${CSS.escape(card.id)}"]`);
      if (item) showSeconds(item, card);
    }
  }, 1000);
  panel.atEnd(() => clearInterval(tick));

  // -- what was not finished --------------------------------------------------------------
  const unfinished = section(panel, "Unfinished");

  function drawJob(card) {
    const words = make(
      "div",
      "agentcell-generation-words",
      make("bdi", "", card.prompt),
      make("span", "agentcell-quiet", `${card.maker} · ${card.state} · ${card.when} · ${card.id}`),
    );
    const resume = button({
      text: t("Resume"),
      label: t("Resume {prompt}", { prompt: card.prompt }),
      press: () => panel.attempt("resume", { job: card.id }),
    });
    const cancel = button({
      text: t("Cancel at the service"),
      label: t("Cancel {prompt} at the service", { prompt: card.prompt }),
      press: () => panel.attempt("cancel", { job: card.id }),
    });
    return make("li", "agentcell-generation-job", words, make("div", "agentcell-generation-acts", resume, cancel));
  }

  // -- results ----------------------------------------------------------------------------
  const results = section(panel, "Results");
  results.list.classList.add("agentcell-generation-gallery");
  const nothing = make("p", "agentcell-quiet", t("No results yet."));
  results.made.append(nothing);

  // A clip is too large for the line to Python: the host's own server gives it, where there is one.
  async function play(holder, card) {
    const resolver = model.widget_manager?.rendermime?.resolver;
    if (!card.place || !resolver || !holder.isConnected) return;
    try {
      const clip = setAttributes(make("video"), { controls: true, "aria-label": card.alt });
      clip.src = await resolver.getDownloadUrl(await resolver.resolveUrl(card.place));
      clip.poster = holder.querySelector("img")?.src ?? "";
      clip.addEventListener("loadedmetadata", () => holder.replaceChildren(clip), { once: true });
      clip.load();
    } catch {
      // Its still picture stays, with its name above it.
    }
  }

  function drawResult(card) {
    const holder = make("div", "agentcell-generation-picture");
    fill(holder, "result", card.id, card.alt);
    const enlarge = setAttributes(make("button", "agentcell-generation-enlarge", holder), {
      type: "button",
      "aria-label": t("Enlarge {name}", { name: card.name }),
    });
    enlarge.addEventListener("click", async () => {
      const large = make("div", "agentcell-generation-large");
      openDialog(panel, { label: card.name, content: large });
      await fill(large, "result", card.id, card.alt, 1600);
      if (card.kind === "video") await play(large, card);
    });
    const chat = button({
      text: t("Ask the chat"),
      label: t("Send {name} to the chat", { name: card.name }),
      press: () => panel.attempt("attach", { id: card.id }),
    });
    const again = button({
      text: t("Start from this"),
      label: t("Start from {name}", { name: card.name }),
      press: () => panel.attempt("reuse", { id: card.id }),
    });
    if (card.kind === "video") enlarge.append(make("span", "agentcell-generation-clip", "▶"));
    const acts = card.kind === "image" ? make("div", "agentcell-generation-acts", chat, again) : null;
    const name = setAttributes(make("bdi", "agentcell-generation-name", card.name), { title: card.name });
    enlarge.title = card.prompt;
    return make("li", "agentcell-generation-result", enlarge, name, make("span", "agentcell-quiet", card.facts), acts);
  }

  // -- together ---------------------------------------------------------------------------
  function show(next) {
    state = next;
    heard = Date.now();
    count.max = next.mostCount;
    seconds.max = next.mostSeconds;
    if (makers.children.length !== next.makers.length) {
      makers.replaceChildren(...listOf("", next.makers).children);
    }
    keepChildren(references, next.references, drawReference, (item, card) => {
      const isFirst = next.references[0]?.id === card.id;
      const [mask] = item.querySelectorAll("button");
      mask.hidden = !isFirst;
      item.querySelector(".agentcell-generation-unmask").hidden = next.mask !== card.id;
    });
    keepChildren(running.list, next.runs, drawRun, showRun);
    keepChildren(unfinished.list, next.jobs, drawJob, () => {});
    keepChildren(results.list, next.results, drawResult, () => {});
    running.made.hidden = !next.runs.length;
    unfinished.made.hidden = !next.jobs.length;
    nothing.hidden = Boolean(next.results.length);
  }

  const form = make(
    "div",
    "agentcell-generation-form",
    field(t("What is to be seen"), prompt, t("For example: a lighthouse at dusk, flat colours")),
    options,
    start,
    uploads,
    make("div", "agentcell-generation-go", go, asks),
  );
  // Below many results nobody would see what is said.
  panel.body.append(form, panel.notice, running.made, unfinished.made, results.made);
  running.made.hidden = true;
  unfinished.made.hidden = true;
  takeFiles(panel, panel.root, take);
  panel.on("state", show);
  panel.ask("hello").then(show, panel.fail);
  return () => panel.close();
}

export default { render };
