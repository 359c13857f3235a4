// A text of an answer, to the clipboard or a new cell of the notebook.

// Put a text on the clipboard; where that is refused, select it and say so.
async function copyText(panel, text, source) {
  try {
    await navigator.clipboard.writeText(text);
    panel.say(panel.t("Copied."));
    return true;
  } catch {
    const area = setAttributes(make("textarea", "agentcell-unseen"), { "aria-hidden": "true" });
    const back = panel.root.getRootNode().activeElement;
    area.value = text;
    panel.root.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    back?.focus();
    if (done) panel.say(panel.t("Copied."));
    else {
      if (source) getSelection()?.selectAllChildren(source);
      panel.say(panel.t("The browser refuses the clipboard: the text is selected, press Ctrl+C."));
    }
    return done;
  }
}

// Put code into a new cell below the panel's own: what JupyterLab and Notebook 7 allow a widget.
// False where they do not.
function insertCell(model, widget, code) {
  try {
    const notebook = model.widget_manager?.context?.model;
    const cells = notebook?.cells;
    const shared = notebook?.sharedModel;
    if (!cells?.length || typeof shared?.insertCell !== "function") return false;
    let place = cells.length;
    for (let at = 0; at < cells.length; at += 1) {
      const outputs = cells.get(at).outputs;
      for (let n = 0; n < (outputs?.length ?? 0); n += 1) {
        const view = outputs.get(n).data["application/vnd.jupyter.widget-view+json"];
        if (view?.model_id === widget) place = at + 1;
      }
    }
    const before = cells.length;
    shared.insertCell(place, { cell_type: "code", source: code, metadata: {} });
    return cells.length === before + 1 && shared.getCell(place).source === code;
  } catch {
    return false;
  }
}
