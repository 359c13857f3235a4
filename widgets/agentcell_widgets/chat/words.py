"""What the chat panel says, in Chinese, by the English sentences: its page, and Python."""

from __future__ import annotations

from typing import Final

PAGE: Final[dict[str, str]] = {
    "Chat": "对话",
    # -- the frame
    "Conversation": "对话",
    "New conversation": "新对话",
    "Model": "模型",
    "Transcript": "对话记录",
    "Ask something. Images and PDFs can be dropped or pasted here.": (
        "请提问。可在此拖放或粘贴图片和 PDF。"
    ),
    "Show earlier turns ({count})": "显示更早的对话（{count}）",
    "Your question": "您的问题",
    "Ask …": "提问 …",
    "Enter sends · Shift+Enter breaks the line · Esc stops": (
        "Enter 发送 · Shift+Enter 换行 · Esc 停止"
    ),
    "Send": "发送",
    "Stop": "停止",
    "Stopping …": "正在停止 …",
    "Attach files": "添加附件",
    "Attached to the next question": "随下一个问题发送的附件",
    "Take back {tag}": "取下 {tag}",
    "What would be sent": "查看将要发送的内容",
    "Nothing was sent.": "未发送任何内容。",
    "It cannot be sent: {reason}": "无法发送：{reason}",
    "The request as sent": "将发送的请求",
    # -- a turn
    "You": "您",
    "asked in a cell": "在单元中提问",
    "Thinking": "思考过程",
    "Sources": "来源",
    "Stale: an earlier turn was asked again since.": "已过时：之后有更早的问题重新问过。",
    "Copy the answer": "复制回答",
    "Copied.": "已复制。",
    "The browser refuses the clipboard: the text is selected, press Ctrl+C.": (
        "浏览器不允许使用剪贴板：文本已选中，请按 Ctrl+C。"
    ),
    "Copy code": "复制代码",
    "Insert as a cell": "插入为单元",
    "Inserted as a new cell.": "已插入为新单元。",
    "Cells cannot be inserted here; the code is copied.": "此处无法插入单元；代码已复制。",
    "Retry": "重试",
    "Edit": "编辑",
    "Branch": "分支",
    "You edit an earlier question: it is asked in a new conversation.": (
        "您正在编辑更早的问题：它将在新对话中提问。"
    ),
    "Leave it": "放弃编辑",
    "Run": "运行",
    "Always here": "本次都允许",
    "Reject": "拒绝",
    "no preview": "无预览",
    "The answer is complete.": "回答已完成。",
    "The answer was stopped.": "回答已停止。",
    "The answer failed.": "回答失败。",
}

SAID: Final[dict[str, str]] = {
    "{tag} goes with the next question.": "{tag} 将随下一个问题发送。",
    "{tag} stays here.": "{tag} 不会随问题发送。",
    "You go on in {conversation}.": "您将在 {conversation} 中继续。",
    "Questions go to {model}.": "问题将发送给 {model}。",
    "Asking {model} …": "正在询问 {model} …",
    "{reason}: asking again in {seconds} s …": "{reason}：{seconds} s 后重新询问 …",
    "Waiting: {reason} …": "等待中：{reason} …",
    "May it run this?": "允许运行吗？",
    "Ask it?": "要提问吗？",
    "running": "运行中",
    "waits for you": "等待您的确认",
    "stopped": "已停止",
    "ok": "成功",
    "failed: {reason}": "失败：{reason}",
    "refused: {reason}": "被拒绝：{reason}",
    "… ({count} characters more)": "……（还有 {count} 个字符）",
    "{count} tokens in": "输入 {count} tokens",
    "{count} tokens in ({cached} cached)": "输入 {count} tokens（缓存 {cached}）",
    "{count} out": "输出 {count}",
    "about {counted}": "约{counted}",
    "{seconds} s": "{seconds} s",
    "cost of one turn unknown": "1 轮费用未知",
    "cost of {count} turns unknown": "{count} 轮费用未知",
    "{left} of {budget} left": "预算 {budget}，剩余 {left}",
    "The answer is empty.": "回答为空。",
    "The answer was cut at the model's limit.": "答案在模型的长度上限处被截断。",
    "The provider's filter cut the answer.": "服务商的过滤器截断了答案。",
    "The model declined to answer.": "模型拒绝回答。",
    # -- a dry run
    "model": "模型",
    "conversation": "对话",
    "settings": "设置",
    "tools": "工具",
    "attachments": "附件",
    "and {count} more": "另有 {count} 个",
    "all together": "合计",
    "cost": "费用",
    "recording": "录制",
    "answers it: nobody is asked or paid": "由录制回答：不询问任何服务，也不产生费用",
    "free": "免费",
    "cost unknown": "费用未知",
    "about {count} tokens ({low} to {high})": "约 {count} tokens（{low} 至 {high}）",
    "about {expected}, at most {most}": "约 {expected}，至多 {most}",
    "about {expected}, {most} for {count} tokens of answer": (
        "约 {expected}；回答为 {count} tokens 时 {most}"
    ),
    "budget": "预算",
    "instructions": "指示",
    "earlier": "更早",
    "question": "问题",
    "goes {how}": "发送方式：{how}",
    "goes {how}, {what}": "发送方式：{how}，{what}",
    "with the question": "随问题一起",
    "uploaded once, then by its file id": "上传一次，之后以文件 id 引用",
    "by its address, which the service reads": "以地址发送，由服务商读取",
    "by its file id": "以文件 id 引用",
    "as text": "作为文本",
    "as images of its pages": "作为页面图片",
    "refused": "被拒绝",
    # -- without a kernel
    "Chat: {conversation}": "对话：{conversation}",
    "… one earlier turn": "……更早的 1 轮",
    "… {count} earlier turns": "……更早的 {count} 轮",
    "Nothing was asked yet.": "尚未提问。",
}
