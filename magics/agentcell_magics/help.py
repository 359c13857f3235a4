"""The options' tables, to what `%%agent?` and `%view_image?` show. Light: loaded at once."""

from agentcell_magics.generate_options import COMMANDS, GENERATE_OPTIONS
from agentcell_magics.line import table
from agentcell_magics.options import AGENT_OPTIONS, VIEW_OPTIONS

AGENT_HELP = f"""Ask a model about what this cell says and attaches.

    %%agent [MODEL] [options]
    What is the total on {{receipt}}?

{{name}} stands for a variable, or for an attachment given on the line; all else stays as typed,
and {{{{name}}}} is the way to write the braces themselves. @path attaches the image or PDF that is
there, as in @receipts/a.png or @"my photo.png", and so does [IMAGE:path] an image; between
backticks it stays as typed. Later cells go on from this one; running a cell again replaces its
answer. What options say here is preset by %config AgentMagics, and else by the environment
(AGENTCELL_MODEL, AGENTCELL_DETAIL, …).

Options
{table(AGENT_OPTIONS)}

With --each the cell asks once for each row of a DataFrame or list: {{column}} is the row's value,
any other name a variable's. --out names the DataFrame that the answers go into, beside the rows:
the column answer, or the columns of --schema, and the column error. Rows see neither each other
nor earlier cells, and become no turns. Interrupted, the cell goes on where it stopped when it is
run again.

With --prompt the question is a prompt file, filled in: %%agent --prompt task.prompt text=notes
images=photo.png. A value is a variable's, if one has that name, else the text as it stands; what
stands below the line fills %text%. The file's model and settings count where the line has none.

What -T names is looked up when the cell runs: lookup, shop.lookup, files (all tools of an
McpServer), files.search. Functions run unasked. Before a tool of a server runs, or one made with
@tool(needs_approval=True), you are asked. --approve ask asks before every call; run (or: always)
approves all of them, refuse (or: never) approves none. Where nobody can be asked, as with --async
or in a test run, such a call is refused, and the model is told. view_image, image_generation,
delegate_create_image and delegate_create_video are there without anybody writing them; the first
two when %agent images has opened their gates, and then they go with every question.

    %agent                    what is asked, what is attached, what it cost so far
    %agent model NAME         ask this model from now on, for example openai/gpt-4.1 or local
    %agent -v                 the last request as it was sent, with files as digests
    %agent models             models that have a name here
    %agent history [NAME]     the last turns, by conversation and number; --all: replaced ones too
    %agent attachments        what is attached, by tag
    %agent panel [WHAT]       a panel in the page: chat, attachments, generate or history;
                              panel close ends them
    %agent undo [NAME]        take back the last change, of that conversation or of all
    %agent forget WHAT        delete a turn (number or id), or never send an attachment (tag) again
    %agent restore [WHAT]     bring back a turn (id) or a former life of the kernel (time);
                              restore notebook [FILE]: what a saved notebook tells
    %agent export FILE [NAME] the turns as .md, .html, or .ipynb that asks again; --force replaces
    %agent key [PROVIDER]     where keys come from; type one, hidden; --forget takes it away
    %agent images [view]      let models look at local images (view), make some (generate), both
                              (on), none (off); allow FOLDER: beside the notebook's own
    %agent budget 2.00 usd    what may be spent; --ask-above 0.10; off ends it
    %agent running            what is answered in the background (--async)
    %agent cancel NAME        stop one of these, or all
    %agent reset              forget all turns and attachments
"""

VIEW_HELP = f"""Show an image and attach it to the next %%agent question.

    %view_image PATH_OR_VARIABLE [options]

Options
{table(VIEW_OPTIONS)}
"""

GENERATE_HELP = f"""Make pictures, or a clip, from a prompt.

    %generate a lighthouse at dusk, oil on canvas [options]

    %%generate [options]
    The fox in {{fox}}, but in deep snow.

{{name}} stands for a variable, and @path for a picture that is there, as in %%agent: a picture that
the prompt names goes out as a reference, and a tag stands for it. What comes is in the cell as
thumbnails, as files beside the notebook, in _ and in -o VAR: {{VAR}} in the next cell is the
picture itself. What it costs is told before it is sent, where that is known, and counts in
%agent budget. Running the cell again makes it anew, and is paid for anew.

Options
{table(GENERATE_OPTIONS)}

A job that may be paid for is written down before it is sent. The stop button ends the wait, not
the job: %generate jobs tells of it, also after the kernel died.

{chr(10).join(f"    %generate {name.ljust(9)} {said}" for name, said in COMMANDS.items())}
"""
