"""What `%generate` says, in Chinese."""

from __future__ import annotations

from typing import Final

ZH_GENERATE: Final[dict[str, str]] = {
    # -- while it is made, and what came
    "Making {what} with {maker}": "正在用 {maker} 制作{what}",
    "Fetching {job}": "正在取回 {job}",
    "a picture": "一张图片",
    "{count} pictures": "{count} 张图片",
    "a clip": "一段视频",
    "accepted": "已受理",
    "{count} saved": "已保存 {count} 个",
    ", {count} missing": "，缺少 {count} 个",
    "not finished": "尚未完成",
    "Nothing was made.": "没有生成任何内容。",
    "Nothing came yet.": "还没有收到结果。",
    "Stopped.": "已停止。",
    "{count} pictures: {alt}": "{count} 张图片：{alt}",
    "As its maker put it": "服务方改写后的提示词",
    "seed {number}": "种子 {number}",
    "AVIF image": "AVIF 图像",
    "MP4 video": "MP4 视频",
    "WebM video": "WebM 视频",
    "QuickTime video": "QuickTime 视频",
    "A file of it is gone.": "其中一个文件已不存在。",
    # -- %generate --dry-run
    "Nothing is under way.": "没有进行中的任务。",
    "this folder": "当前文件夹",
    "maker": "制作方",
    "makes": "内容",
    "free": "免费",
    "nothing: it is replayed": "无费用：来自录制内容",
    # -- %generate jobs, cancel
    "Jobs": "任务",
    "Jobs that are not finished": "未完成的任务",
    "%generate resume {job} asks for what is missing; nothing is paid for anew.": (
        "用 %generate resume {job} 可取回缺少的文件；不会再次付费。"
    ),
    "%generate resume ID fetches one; nothing is paid for twice.": (
        "用 %generate resume ID 可取回任务；不会重复付费。"
    ),
    "Nothing is under way; {count} jobs are finished (%generate jobs --all).": (
        "没有进行中的任务；{count} 个任务已结束（%generate jobs --all）。"
    ),
    "Nothing is under way; one job is finished (%generate jobs --all).": (
        "没有进行中的任务；一个任务已结束（%generate jobs --all）。"
    ),
    "No picture or clip was paid for here.": "这里还没有付费的图片或视频。",
    "Stopped: {names}.": "已停止：{names}。",
    "{job} is cancelled at {maker}.": "{job} 已在 {maker} 取消。",
    "One job of before is not finished: %generate jobs tells of it.": (
        "之前有一个任务尚未完成：用 %generate jobs 查看。"
    ),
    "{count} jobs of before are not finished: %generate jobs tells of them.": (
        "之前有 {count} 个任务尚未完成：用 %generate jobs 查看。"
    ),
    "written down, not sent": "已登记，未发送",
    "sent, no answer came": "已发送，没有收到答复",
    "its service has it": "服务方正在处理",
    "made, not all saved": "已生成，尚未全部保存",
    "done": "完成",
    "failed": "失败",
    "cancelled": "已取消",
    "nobody knows what became of it": "结果未知",
    # -- %generate models, backends
    "What --model may name": "--model 可用的名称",
    "Who makes pictures and clips": "图片和视频的制作方",
    "pictures": "图片",
    "clips": "视频",
    "set up": "已设置",
    "only where it is named": "仅在指明时使用",
    "needs {what}": "需要 {what}",
    "free; only where it is named": "免费；仅在指明时使用",
}
