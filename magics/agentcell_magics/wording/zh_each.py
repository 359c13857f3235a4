"""What `%%agent --each` says, in Chinese."""

ZH_EACH = {
    "Asked about each row": "已逐行提问",
    "answers": "回答",
    "failed": "失败",
    "cut short": "被截断",
    "from before": "此前已有",
    "rows": "行数",
    "first row": "第一行",
    "cost of the first row": "第一行的费用",
    "all rows, at that": "全部行，按此计",
    "{count} in {name}": "{count} 条，在 {name} 中",
    "{count}, see the column error": "{count} 行，见 error 列",
    "{count}: raise --max-tokens": "{count} 行：请提高 --max-tokens",
    "{count} answers": "{count} 条回答",
    "{done} of {count} rows": "{count} 行中的 {done} 行",
    "{count} failed": "{count} 行失败",
    "{name} stays as typed: did you mean {meant}?": "{name} 保持原样：您是指 {meant} 吗？",
    "about {usd}": "约 {usd}",
}
