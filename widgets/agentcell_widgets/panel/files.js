// Files that a person chooses, drops or pastes: they go to Python in pieces. See source.py.

const PIECE_BYTES = 1024 * 1024; // see uploads.py
const MOST_UPLOAD_MB = 100;

// Send a file in pieces, each after the answer to the last. `signal` cancels. Gives what Python's
// `uploaded` answered.
async function sendFile(panel, file, { extra = {}, signal = null, progress = () => {} } = {}) {
  if (file.size > MOST_UPLOAD_MB * PIECE_BYTES) {
    throw new PanelError(
      panel.t("{name} is larger than {most} MB.", { name: file.name, most: MOST_UPLOAD_MB }),
      panel.t("Put it into the notebook's folder and give its path."),
    );
  }
  const { upload } = await panel.ask("upload-begin", { name: file.name, size: file.size });
  for (let offset = 0; offset < file.size; ) {
    if (signal?.aborted || !panel.isOpen) {
      await panel.ask("upload-cancel", { upload });
      throw new PanelError(panel.t("Canceled: {name}.", { name: file.name }));
    }
    let piece;
    try {
      piece = await file.slice(offset, offset + PIECE_BYTES).arrayBuffer();
    } catch {
      // It changed since it was chosen, or is a folder.
      await panel.ask("upload-cancel", { upload });
      throw new PanelError(panel.t("{name} cannot be read.", { name: file.name }), panel.t("choose it again."));
    }
    const { received } = await panel.ask("upload-piece", { upload, offset }, [piece]);
    offset = received;
    progress(offset / file.size);
  }
  return panel.ask("upload-end", { upload, ...extra });
}

// Send files one after the other, each with a line of progress and a button to cancel in `place`.
// What fails is shown, after what failed before, and the others go on.
async function sendFiles(panel, files, place, failed = []) {
  const all = [...files].map((file) => {
    const stop = new AbortController();
    const bar = setAttributes(make("progress"), { max: 1, value: 0, "aria-label": file.name });
    const percent = make("span", "agentcell-upload-percent", "0 %");
    const cancel = button({
      drawing: "close",
      label: panel.t("Cancel {name}", { name: file.name }),
      kind: "agentcell-plain",
      press: () => stop.abort(),
    });
    const line = make("div", "agentcell-upload", make("bdi", "agentcell-upload-name", file.name), bar, percent, cancel);
    place.append(line);
    return { file, stop, line, bar, percent };
  });
  const went = [];
  for (const { file, stop, line, bar, percent } of all) {
    try {
      if (stop.signal.aborted) throw new PanelError(panel.t("Canceled: {name}.", { name: file.name }));
      const reply = await sendFile(panel, file, {
        signal: stop.signal,
        progress: (part) => {
          bar.value = part;
          percent.textContent = `${Math.round(part * 100)} %`;
        },
      });
      went.push(reply);
      if (reply.notice !== undefined) panel.say(reply.notice);
    } catch (error) {
      failed.push(error);
    } finally {
      line.remove();
    }
    if (failed.length) panel.fail(...failed); // what went well afterwards covers up none of it
  }
  return went;
}

// Whether a person writes words there.
function isWritten(element) {
  return element.matches("textarea, input[type=text], input[type=search], input:not([type])") && !element.readOnly;
}

function insertWords(field, words) {
  field.focus();
  if (document.execCommand("insertText", false, words)) return; // so that it can be undone
  field.setRangeText(words, field.selectionStart, field.selectionEnd, "end");
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

// File managers put the names of the files beside them.
function areNamesOf(words, files) {
  const names = new Set([...files].map((file) => file.name));
  const named = (line) => names.has(line.trim().split(/[\\/]/).pop());
  return words.trim().split(/\r?\n/).every(named);
}

// Let files be dropped on and pasted into `area`; `take` is called with them.
function takeFiles(panel, area, take) {
  let depth = 0;
  const has = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  const mark = (change) => {
    depth = Math.max(0, depth + change);
    area.classList.toggle("agentcell-dropping", depth > 0);
  };
  const own = (event) => {
    event.preventDefault();
    event.stopPropagation();
  };
  area.addEventListener("dragenter", (event) => {
    if (has(event)) {
      own(event);
      mark(1);
    }
  });
  area.addEventListener("dragover", (event) => {
    if (has(event)) own(event);
  });
  area.addEventListener("dragleave", (event) => {
    if (has(event)) {
      own(event);
      mark(-1);
    }
  });
  area.addEventListener("drop", (event) => {
    if (!has(event)) return;
    own(event);
    mark(-depth);
    const entries = [...event.dataTransfer.items]
      .filter((one) => one.kind === "file")
      .map((one) => one.webkitGetAsEntry?.());
    const all = [...event.dataTransfer.files];
    const isFolder = (_, at) => Boolean(entries[at]?.isDirectory);
    const folders = all.filter(isFolder).map(
      ({ name }) => new PanelError(panel.t("{name} is a folder.", { name }), panel.t("choose the files in it.")),
    );
    const files = all.filter((one, at) => !isFolder(one, at));
    if (folders.length) panel.fail(...folders);
    if (files.length) take(files, folders);
  });
  area.addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (!files.length) return; // words go where the cursor is
    const field = isWritten(event.target) ? event.target : null;
    const words = field ? event.clipboardData.getData("text/plain") : "";
    const hasWords = Boolean(words.trim()) && !areNamesOf(words, files);
    if (hasWords && [...event.clipboardData.types].includes("text/html")) {
      // Spreadsheets and word processors put a picture of the words beside them.
      panel.say(panel.t("Pasted as words. To attach their picture, paste it outside the field."));
      return;
    }
    own(event);
    if (hasWords) insertWords(field, words);
    take(files);
  });
}

// A button that opens the browser's own dialog for files.
function fileButton({ text, label = "", accept, take, kind = "" }) {
  const input = setAttributes(make("input"), { type: "file", multiple: true, accept, tabindex: "-1" });
  input.hidden = true;
  input.addEventListener("change", () => {
    const files = [...input.files];
    input.value = ""; // the same file may be chosen again
    if (files.length) take(files);
  });
  const opens = button({ text, label, drawing: "attach", kind, press: () => input.click() });
  return make("span", "agentcell-file", opens, input);
}
