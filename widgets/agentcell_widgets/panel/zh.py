"""What all panels say, in Chinese, by the English sentences."""

from __future__ import annotations

from typing import Final

ZH: Final[dict[str, str]] = {
    "Panel": "面板",
    "{panel}: it works where a kernel runs; this is what it showed.": (
        "{panel}：有内核运行时可用；以下是它显示过的内容。"
    ),
    "{panel}: closed.": "{panel}：已关闭。",
    "Waiting for the kernel …": "正在等待内核 …",
    "This panel ended with its kernel.": "此面板已随内核结束。",
    "run its cell again.": "请重新运行其单元格。",
    "Fix: {fix}": "解决办法：{fix}",
    "Close": "关闭",
    "Undo": "撤销",
    "Pasted as words. To attach their picture, paste it outside the field.": (
        "已作为文字粘贴。要附加其图片，请在输入框外粘贴。"
    ),
    "Cancel": "取消",
    "Cancel {name}": "取消 {name}",
    "Sending {name}: {percent} %": "正在发送 {name}：{percent} %",
    "Canceled: {name}.": "已取消：{name}。",
    "{name} cannot be read.": "无法读取 {name}。",
    "choose it again.": "请重新选择。",
    "{name} is a folder.": "{name} 是文件夹。",
    "choose the files in it.": "请选择其中的文件。",
    "{name} is larger than {most} MB.": "{name} 超过 {most} MB。",
    "Put it into the notebook's folder and give its path.": (
        "请将它放入笔记本所在文件夹，并给出路径。"
    ),
}
