"""What the attachments panel says, in Chinese, by the English sentences."""

from __future__ import annotations

from typing import Final

ZH: Final[dict[str, str]] = {
    "Attachments": "附件",
    "Attachments ({count})": "附件（{count}）",
    "No attachments yet.": "还没有附件。",
    "Drop, paste or choose images and PDFs.": "拖放、粘贴或选择图像和 PDF。",
    "Add files": "添加文件",
    "Path, address or variable": "路径、地址或变量",
    "Attach": "附加",
    "What the address leads to": "地址指向的内容",
    "by its ending": "按其后缀",
    "an image": "图像",
    "a PDF": "PDF",
    "for {model}": "用于 {model}",
    "with the next question: {total}": "随下一个问题：{total}",
    "Label of {tag}": "{tag} 的标签",
    "It went out already: its name stays.": "它已发送过：名称保持不变。",
    "Remove {tag}": "移除 {tag}",
    "Move {tag} earlier": "将 {tag} 前移",
    "Move {tag} later": "将 {tag} 后移",
    "{tag} is number {place} of {count} now.": "{tag} 现在是第 {place} 个，共 {count} 个。",
    "Enlarge {tag}": "放大 {tag}",
    "Previous page of {tag}": "{tag} 的上一页",
    "Next page of {tag}": "{tag} 的下一页",
    "page {page} of {pages}": "第 {page} 页，共 {pages} 页",
    "Larger": "放大",
    "Smaller": "缩小",
    "no preview": "无预览",
    "sent": "已发送",
    "next": "待发送",
    "about {count} tokens": "约 {count} tokens",
    "free": "免费",
    "refused: {reason}": "被拒绝：{reason}",
    "goes as it is": "原样发送",
    "goes as an image": "作为图像发送",
    "goes as a PDF": "作为 PDF 发送",
    "goes as images of its pages": "作为各页的图像发送",
    "goes as text": "作为文本发送",
    "is uploaded once, then goes by its file id": "上传一次，之后以其文件 id 发送",
    "goes by its address, which the service reads": "以其地址发送，由服务读取",
    "goes by its file id": "以其文件 id 发送",
    "{tags} goes with the next question.": "{tags} 将随下一个问题一起发送。",
    "{tags}: attached before; goes with the next question.": (
        "{tags}：之前已附加；将随下一个问题一起发送。"
    ),
    "{tag} is removed; the model will not be given it again.": ("{tag} 已移除；不会再提供给模型。"),
    "It is called {tag} now.": "它现在叫 {tag}。",
}
