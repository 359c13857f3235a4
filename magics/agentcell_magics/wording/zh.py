"""What the magics say, in Chinese."""

from __future__ import annotations

from typing import Final

from agentcell_magics.wording.zh_each import ZH_EACH
from agentcell_magics.wording.zh_generate import ZH_GENERATE

ZH: Final[dict[str, str]] = {
    # -- under an answer, and while it comes
    "Asking {model} …": "正在询问 {model} …",
    "Sources": "来源",
    "Thinking": "思考过程",
    "page {number}": "第 {number} 页",
    "… and {count} more": "……另有 {count} 条",
    "and {count} more": "另有 {count} 个",
    "… ({count} characters more)": "……（还有 {count} 个字符）",
    "{count} tokens in": "输入 {count} tokens",
    "{count} tokens in ({cached} cached)": "输入 {count} tokens（缓存 {cached}）",
    "{count} out": "输出 {count}",
    ", ": "，",
    "about {counted}": "约{counted}",
    "{seconds} s": "{seconds} s",
    "stopped": "已停止",
    "running": "运行中",
    "ok": "成功",
    "failed: {reason}": "失败：{reason}",
    "refused: {reason}": "被拒绝：{reason}",
    "cost unknown": "费用未知",
    "The answer was cut at the model's limit; allow more with --max-tokens.": (
        "答案在模型的长度上限处被截断；用 --max-tokens 可放宽。"
    ),
    "The provider's filter cut the answer.": "服务商的过滤器截断了答案。",
    "The model declined to answer.": "模型拒绝回答。",
    "The model answered nothing.": "模型没有给出任何回答。",
    "Stopped before an answer began.": "在回答开始之前已停止。",
    "No answer.": "没有回答。",
    "Stale: an earlier cell ran again since.": "已过时：之后有更早的单元重新运行过。",
    "{reason}: asking again …": "{reason}：正在重新询问 …",
    "{reason}: asking again in {seconds} s …": "{reason}：{seconds} s 后重新询问 …",
    "Waiting: {reason} …": "等待中：{reason} …",
    "Waiting for about {seconds} s: {reason} …": "约等待 {seconds} s：{reason} …",
    # -- above an answer
    "Asked: {question}": "提问：{question}",
    "Note: {note}": "注意：{note}",
    "It goes with the next question.": "它将随下一个问题一起发送。",
    "The first {count} are shown.": "只显示前 {count} 个。",
    "-o {name} hides Python's own {name}; del {name} brings it back.": (
        "-o {name} 遮盖了 Python 自带的 {name}；用 del {name} 可恢复。"
    ),
    "Line {line} begins with %%agent and goes out as text: a cell asks one question.": (
        "第 {line} 行以 %%agent 开头，将作为文本发送：一个单元只提一个问题。"
    ),
    "This question does not see an answer that is still on the way in {name}.": (
        "{name} 中有一个回答尚未到达，本问题看不到它。"
    ),
    "This question does not see {count} answers that are still on the way in {name}.": (
        "{name} 中有 {count} 个回答尚未到达，本问题看不到它们。"
    ),
    "Line {line} holds {what}, written out: {saved}. Delete it there; `%agent key PROVIDER`,"
    " keyring or the environment keep a key out of it.": (
        "第 {line} 行直接写出了 {what}：{saved}。请把它删掉；"
        "`%agent key PROVIDER`、keyring 或环境变量可以让密钥不出现在单元里。"
    ),
    "the cell's text is saved in the notebook and in IPython's history": (
        "单元的文本会保存在笔记本和 IPython 的历史里"
    ),
    "{name}={value} goes out as that text: did you mean the variable {near}?": (
        "{name}={value} 将按原文发送：您是不是想用变量 {near}？"
    ),
    # -- %agent, %agent model, %agent models
    "agentcell": "agentcell",
    "model": "模型",
    "conversation": "对话",
    "attachments": "附件",
    "tokens": "tokens",
    "cost": "费用",
    "none": "无",
    "recording": "录制",
    "history": "历史",
    "in the background": "后台",
    "off": "关闭",
    "in memory: it ends with the kernel": "在内存中：随内核结束而消失",
    "{mode}, {file}": "{mode}，{file}",
    "reads text by": "识别文字",
    "sentences by": "生成句子",
    "weights": "权重",
    "to do": "待办",
    "not installed": "未安装",
    "not fetched": "未下载",
    "{count} turn": "{count} 轮",
    "{count} turns": "{count} 轮",
    "Questions go to {model}.": "问题将发送给 {model}。",
    "Models by name; any other of these providers works too": (
        "模型名称；这些服务商的其他模型也可使用"
    ),
    "Nothing is attached yet.": "还没有附件。",
    "Nothing was asked yet.": "还没有提过问题。",
    "The request as sent": "实际发送的请求",
    "The last request as sent": "上一次实际发送的请求",
    "All turns and attachments of this session are forgotten.": "本会话的轮次和附件均已清除。",
    # -- history
    "Turns": "轮次",
    "Turns: the last {turns} of {count}": "轮次：{count} 轮中的最后 {turns} 轮",
    "No turns yet.": "还没有任何轮次。",
    "before": "以前",
    "with {tags}": "附件：{tags}",
    "taken back": "已撤回",
    "replaced": "已被替换",
    "{count} older lives of this kernel": "该内核更早的 {count} 次运行",
    "Taken back in {name}: {question}.": "已在 {name} 中撤回：{question}。",
    "In its place is again: {question}.": "原处恢复为：{question}。",
    "{command} undoes this.": "用 {command} 可取消此操作。",
    "{tag} will not be sent again; its name stays in earlier texts.": (
        "{tag} 不会再被发送；它的名称仍留在之前的文本里。"
    ),
    "Again in {name}: {question}.": "已恢复到 {name}：{question}。",
    "{count} turn of {name} came back.": "{name} 的 {count} 轮已恢复。",
    "{count} turns of {name} came back.": "{name} 的 {count} 轮已恢复。",
    "The next question in {name} sees no earlier turn.": "{name} 中的下一个问题看不到更早的轮次。",
    "The next question in {name} sees one turn, which asks {question}.": (
        "{name} 中的下一个问题能看到一轮，其提问为{question}。"
    ),
    "The next question in {name} sees {count} turns, the last of which asks {question}.": (
        "{name} 中的下一个问题能看到 {count} 轮，最后一轮的提问为{question}。"
    ),
    "The next question in {name} sees only the last {count} turns,"
    " the last of which asks {question}.": (
        "{name} 中的下一个问题只能看到最后 {count} 轮，最后一轮的提问为{question}。"
    ),
    "Turn {number} of {name} is deleted for good, with all its versions: {question}.": (
        "{name} 的第 {number} 轮及其所有版本已永久删除：{question}。"
    ),
    "Turn {number} of {name} is deleted for good: {question}.": (
        "{name} 的第 {number} 轮已永久删除：{question}。"
    ),
    "A turn of {name} is deleted for good, with all its versions: {question}.": (
        "{name} 的一轮及其所有版本已永久删除：{question}。"
    ),
    "A turn of {name} is deleted for good: {question}.": "{name} 的一轮已永久删除：{question}。",
    "{count} turn came from {file}, marked as imported.": "从 {file} 导入了 {count} 轮（已标记）",
    "{count} turns came from {file}, marked as imported.": "从 {file} 导入了 {count} 轮（已标记）",
    "{count} stay as they are here.": "{count} 轮保持原样。",
    "No longer here: {tags}.": "已不存在：{tags}。",
    "{turns} written to {file}{more}.": "{turns}已写入 {file}{more}。",
    ", with {folder} beside it": "，旁边有 {folder}",
    # -- background, budget, recording
    "Answered in the background": "后台回答",
    "Image tools": "图像工具",
    "image tools": "图像工具",
    "closed": "关闭",
    "goes with every question": "随每个问题提供",
    "folders": "允许的文件夹",
    "this folder": "本文件夹",
    "Nothing is answered in the background.": "后台没有进行中的回答。",
    "Stopped: {names}. What came until then is kept.": "已停止：{names}。已收到的内容会保留。",
    "{count} characters": "{count} 个字符",
    "Panels closed: {count}.": "已关闭的面板：{count}。",
    "Budget": "预算",
    "budget": "预算",
    "at least {dollars} ({turns} of unknown cost)": "至少 {dollars}（{turns}费用未知）",
    "unknown ({turns} of unknown cost)": "未知（{turns}费用未知）",
    "left": "剩余",
    "asks": "询问",
    "spent": "已花费",
    "none: every question goes out": "无：所有问题都会发送",
    "above {dollars} for one question": "单个问题超过 {dollars} 时",
    "{dollars}, {left} left": "{dollars}，剩余 {left}",
    "Recording": "录制",
    "file": "文件",
    "mode": "模式",
    "answers": "回答",
    "not asked for": "未被用到",
    "Nothing is recorded or replayed.": "没有在录制或回放。",
    "Answers are no longer recorded or replayed.": "不再录制或回放回答。",
    "Answers come from {file}; nothing is asked.": "回答来自 {file}；不会发出询问。",
    "Answers come from {file}; what it does not hold is asked.": (
        "回答来自 {file}；其中没有的会去询问。"
    ),
    "Answers come from {file}; what it does not hold is asked and kept.": (
        "回答来自 {file}；其中没有的会去询问并保存。"
    ),
    "{count} answer that nobody asked for taken out of {file}.": (
        "已从 {file} 中移除 {count} 个未被用到的回答。"
    ),
    "{count} answers that nobody asked for taken out of {file}.": (
        "已从 {file} 中移除 {count} 个未被用到的回答。"
    ),
    # -- keys
    "Where keys come from": "密钥的来源",
    "the environment": "环境变量",
    "{variable} in the environment": "环境变量 {variable}",
    "none; looked for in {places}": "无；已查找 {places}",
    "The key is kept until the kernel stops; %agent key {provider} keeps it longer.": (
        "密钥保留到内核停止为止；用 %agent key {provider} 可保留更久。"
    ),
    "The key for {name} is kept in keyring, for this kernel and later ones.": (
        "{name} 的密钥已存入 keyring，供本内核和以后的内核使用。"
    ),
    "The key for {name} is kept until the kernel stops: keyring {why}.": (
        "{name} 的密钥保留到内核停止为止：keyring {why}。"
    ),
    "pip install keyring lets it be kept longer.": "运行 pip install keyring 可保留更久。",
    "But {variable} in the environment comes first.": "但环境变量 {variable} 优先。",
    "The key for {name} is forgotten, from {places}.": "{name} 的密钥已从{places}中清除。",
    "No key for {name} was typed or kept in keyring.": (
        "没有输入过 {name} 的密钥，keyring 中也没有。"
    ),
    "{place} still holds one.": "{place} 中仍有一个。",
    "what was typed": "输入的内容",
    "keyring": "keyring",
    " and ": "和",
    # -- dry run
    "Dry run: nothing was sent": "试运行：没有发送任何内容",
    "settings": "设置",
    "tools": "工具",
    "schema": "模式",
    "refused": "被拒绝",
    "all together": "合计",
    "for the provider": "供服务商使用",
    "for the tools": "用于工具",
    "for the schema": "用于模式",
    "with the question": "随问题一起",
    "uploaded once, then by its file id": "上传一次，之后用其文件 id",
    "by its address, which the service reads": "以其地址，由服务读取",
    "by its file id": "以其文件 id",
    "as text": "作为文本",
    "as images of its pages": "作为各页的图像",
    "asks you before each call": "每次调用前询问您",
    "runs unasked": "直接运行",
    "is refused, and the model is told": "会被拒绝，并告知模型",
    "goes {how}": "{how}发送",
    "goes {how}, {what}": "{how}发送，{what}",
    "calls {tools}": "调用 {tools}",
    "message {number}": "消息 {number}",
    "message {number}, from before": "消息 {number}，来自之前",
    "messages {first} to {last}": "消息 {first} 至 {last}",
    "{role}, from before": "{role}，来自之前",
    "{count} messages of earlier turns{about}": "之前轮次的 {count} 条消息{about}",
    ", about {count} tokens": "，约 {count} tokens",
    "about {count} tokens ({low} to {high})": "约 {count} tokens（{low} 至 {high}）",
    "{count} more": "还有 {count} 个",
    "; you would be asked first": "；会先询问您",
    # -- attachments in words
    "PNG image": "PNG 图像",
    "JPEG image": "JPEG 图像",
    "GIF image": "GIF 图像",
    "WebP image": "WebP 图像",
    "1 page": "1 页",
    "Fix": "解决办法",
    **ZH_EACH,
    **ZH_GENERATE,
}
