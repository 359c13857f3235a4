"""The options' tables, to what `%%agent?` and `%view_image?` show. Light: loaded at once."""

from agentcell_magics.line import table
from agentcell_magics.options import AGENT_OPTIONS, VIEW_OPTIONS

AGENT_HELP = f"""Ask a model about what this cell says and attaches.

    %%agent [MODEL] [options]
    What is the total on {{receipt}}?

{{name}} stands for a variable, or for an attachment given on the line; all else stays as typed,
and {{{{name}}}} is the way to write the braces themselves. Later cells go on from this one;
running a cell again replaces its answer.

Options
{table(AGENT_OPTIONS)}

    %agent                    what is asked, what is attached, what it cost so far
    %agent model NAME         ask this model from now on, for example openai/gpt-4.1 or local
    %agent -v                 the last request as it was sent, with files as digests
    %agent models             models that have a name here
    %agent history            the turns of this session
    %agent attachments        what is attached, by tag
    %agent forget TAG         never send this attachment again
    %agent key [PROVIDER]     where keys come from; type one, hidden; --forget takes it away
    %agent running            what is answered in the background (--async)
    %agent cancel NAME        stop one of these, or all
    %agent reset              forget all turns and attachments
"""

VIEW_HELP = f"""Show an image and attach it to the next %%agent question.

    %view_image PATH_OR_VARIABLE [options]

Options
{table(VIEW_OPTIONS)}
"""
