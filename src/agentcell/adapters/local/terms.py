"""The words of documents -> what they stand for: ``SUB TOTAL`` and ``小计`` are one term.

One table serves labels and questions, so a question in one language finds a label in the other,
and what is easily confused (total and subtotal, due date and invoice date) is told apart by the
longest phrase that fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from agentcell.adapters.local.words import CHINESE, folded, likeness

# Name, kind of value | phrases in documents and questions | phrases in questions only
_TABLE = """
total money | total; grand total; total amount; total price; total cost; total charge; total sales;
  total sum; total value; net total; invoice total; order total; bill total; bill amount;
  invoice amount; final amount; final total; total fare; total bill; total rounded; rounded total;
  total purchase; total amt; ttl; nett total; net total; total nett; gesamt; gesamtbetrag; summe; totale; importe total;
  montant total; 合计; 总计; 共计; 总额; 总金额; 总价; 价税合计; 合计金额; 金额合计; 订单金额;
  消费合计; 消费金额; 消费总额; 账单金额; 账单总额; 订单总额; 订单总价; 总费用; 费用合计;
  总计金额; 小写; 交易金额; 总数; 合计费用; 应收合计; 总金额合计 | altogether; in all; overall;
  spend; spent; sum; come to; add up to; 总共; 一共; 共多少; 花了; 花费; 总的; 全部
due money | amount due; balance due; total due; total amount due; amount to pay; amount payable;
  total payable; net payable; amount owed; amount owing; owed; you owe; amount you owe; patient responsibility;
  your responsibility; amount to be paid; to be paid; patient balance; your share; patient share; your cost; pay this amount; please pay;
  payment due; due amount; total to pay; to pay; now due; total amount payable; 应付; 应付金额;
  应缴; 应缴金额; 应付款; 应付总额; 应付合计; 待付; 待支付; 应收; 应收金额; 本期应缴; 本期应付;
  应缴费用; 应付费用; 应交; 应交金额; 本期应还; 应还金额; 应还款额; 待付金额 | owe; have to pay;
  need to pay; must pay; should pay; 要付; 该付; 需要支付; 需要付; 该交; 要交; 欠
paid money | amount paid; you paid; total paid; paid; paid amount; amount charged; payment amount;
  total charged; 实付; 实付款; 实付金额; 支付金额; 付款金额; 已付; 实际支付; 实缴; 已支付; 实付合计;
  实缴金额; 已付金额; 缴费金额; 交费金额; 转账金额 | pay; charged; 付了; 支付了; 付款; 付的; 交了
subtotal money | subtotal; sub total; sub-total amount; net amount; amount before tax; taxable amount;
  total before tax; goods total; items total; item total; items subtotal; merchandise; net value;
  total excl tax; total excluding tax; pre tax total; untaxed amount; 小计; 商品金额; 商品总额;
  商品总价; 不含税金额; 税前金额; 金额小计; 货款; 商品合计; 不含税; 菜品小计 |
tax money | tax; sales tax; vat; gst; hst; pst; sst; total tax; tax amount; tax total; total vat;
  total gst; gst amount; gst amt; vat amount; vat total; taxes; state tax; city tax; local tax;
  income tax; federal tax; withholding tax; consumption tax; iva; mwst; tva; ust; 税额; 税费; 税金;
  增值税; 税; 消费税; 税款; 合计税额; 个人所得税; 个税; 所得税 |
tax_rate percent | tax rate; vat rate; gst rate; rate of tax; rate of vat; 税率 |
tip money | tip; gratuity; tips; 小费 |
service money | service charge; service fee; serv charge; svc charge; svc chg; 服务费; 服务费用 |
discount money | discount; promotion; promo; coupon; savings; you saved; rebate; total savings;
  voucher; total discount; discount amount; member discount; 优惠; 折扣; 立减; 满减; 优惠券; 减免; 红包;
  抵扣; 优惠金额; 折扣金额; 已优惠; 优惠减免; 会员优惠 | save; saved; 省了; 打折; 便宜了
shipping money | shipping; delivery fee; delivery charge; postage; shipping fee; shipping cost;
  shipping handling; shipping and handling; freight; 运费; 配送费; 邮费; 快递费; 外卖配送费 |
change money | change; change due; cash change; your change; change given; 找零; 找回; 找赎; 找补 |
  找了; change back
tendered money | cash; cash received; tendered; amount tendered; cash paid; received; cash tendered;
  amount received; 实收; 收款; 现金; 收您; 实收金额; 收款金额; 实收现金; 现金支付; 付现 | handed over
deposit money | deposit; deposit paid; prepaid; advance; down payment; advance payment; 押金; 定金;
  预付; 订金; 预付款; 预授权; 已付押金 |
received money | payment received; payments received; last payment; previous payment; payments;
  less payment; credits; 上期已付; 已收款; 已缴; 上期缴费; 上期还款 |
balance money | balance; remaining balance; outstanding balance; available balance;
  current balance; account balance; closing balance; ending balance; new balance; final balance;
  余额; 可用余额; 账户余额; 期末余额; 应付余额; 当前余额; 结余; 卡内余额; 剩余金额 | left over; remains;
  remaining; outstanding; still to pay; 剩; 还剩
opening money | opening balance; previous balance; beginning balance; starting balance;
  balance brought forward; last balance; prior balance; balance forward; 期初余额; 上期余额;
  上期欠费; 上次余额; 上期结余 |
minimum money | minimum payment; minimum due; min payment; minimum payment due;
  minimum amount due; 最低还款; 最低还款额 |
net_pay money | net pay; net salary; take home pay; net income; net wage; net payment; 实发; 实发工资;
  实发金额; 实发合计; 实领 | take home; 到手; 拿到手
gross_pay money | gross pay; gross salary; gross earnings; total earnings; gross income; gross;
  gross wage; 应发; 应发工资; 应发合计; 应发金额 |
deductions money | total deductions; deductions; 扣款; 扣除; 扣款合计; 应扣合计; 扣除合计; 代扣合计 |
unit_price money | unit price; price each; price per unit; u price; rate; unit cost; unit rate;
  hourly rate; per unit; nightly rate; daily rate; s price; 单价 | each; apiece; per hour; per item;
  per night; per liter; per litre; per gallon; per kwh; per piece; 每个; 一个多少; 每件; 每晚; 每升
amount money | amount; amt; the sum of; sum of; price; cost; value; line total; sum total; ext price; 金额; 价格; 价钱; 款额;
  总价值 | expensive; how much; 多少钱; 多少元; 多少块; 什么价
fare money | fare; base fare; 票价; 车费; 车资; 票款; 打车费 | 车票; 机票; 门票; 船票; 打车
refund money | refund; refunded; refund amount; 退款; 退款金额; 退费 |
rounding money | rounding; rounding adj; rounding adjustment; round off; round adj; adj;
  rounding amt; rounding amount; 抹零; 舍入 |
interest money | interest; interest charged; 利息 |
quantity count | qty; quantity; units; pcs; 数量; 件数; 份数; 个数 | how many; 几个; 多少个; 几份; 几瓶;
  几件; 多少份; 多少件; 几张; 几斤; 多少斤
item_count count | no of items; number of items; item count; total items; total qty;
  items sold; total quantity; no of item; 总件数; 商品数量; 商品件数; 总数量; 合计件数 | how many items;
  how many products; how many things; 几样; 多少样; 几种; 多少件商品; 几件商品
duration text | duration; length of stay; parking time; parking duration; 时长; 停车时长; 停车时间; 天数;
  住宿天数 | how long; 多久; 多长时间
date date | date; dated; datum; fecha; 日期 | when; what day; which day; 哪天; 哪一天; 几号; 什么时候; 何时;
  几月几号; 几月; 什么日子; 什么日期
invoice_date date | invoice date; date of invoice; bill date; billing date; receipt date; tax date;
  date of bill; inv date; 开票日期; 发票日期; 账单日期; 开票时间; 出票日期 | invoiced; billed on; 开票
issue_date date | issue date; date of issue; issued on; date issued; issued; awarded on; awarded; given on; given this; 签发日期; 发证日期;
  出具日期; 填发日期; 颁发日期; 发证时间; 签发时间; 颁证日期 | 颁发; 签发
order_date date | order date; ordered on; date ordered; placed on; order placed; purchase date;
  date of purchase; order time; purchased on; 下单日期; 下单时间; 订单日期; 购买日期; 订单时间; 下单;
  购买时间; 点餐时间 | ordered; bought; purchased
transaction_date date | transaction date; trans date; posted; posting date; 交易日期; 交易时间; 消费时间;
  支付时间; 付款时间; 缴费时间; 转账时间; 消费日期; 结账时间 | transaction take place
due_date date | due date; payment due date; pay by; please pay by; due by; due on; date due; due;
  payment due by; payable by; pay before; return by; 付款期限; 缴费截止; 截止日期; 应缴日期; 还款日;
  到期还款日; 最后付款日; 缴费期限; 付款截止日期; 最迟付款日; 缴费截止日期; 付款到期日; 最后还款日;
  还款日期; 请于 | deadline; by what date; by when; latest date; 最晚; 最迟; 截止; 前付; 期限; 到期
statement_date date | statement date; date of statement; 账单日; 对账日期; 结单日期 |
period date | billing period; statement period; pay period; period; service period; billing cycle;
  period covered; 账期; 计费周期; 结算周期; 期间; 账单周期; 计费期间; 所属期; 所属月份; 工资月份 |
check_in date | check in; check in date; checked in; arrival date; 入住; 入住日期; 到店; 入住时间; 到店日期;
  入院日期 |
check_out date | check out; checkout; check out date; checked out; departure date; 离店; 退房;
  离店日期; 退房日期; 离店时间; 退房时间; 出院日期 |
departure time | departure; departs; dep; depart; departing; departure time; 出发; 起飞; 发车; 开车时间;
  出发时间; 起飞时间; 发车时间; 开车 | leave; leaves; take off; 开
arrival time | arrival; arrives; arr; arrival time; arriving; 到达; 抵达; 到达时间; 降落; 到站; 抵达时间;
  到站时间; 降落时间 | arrive; land; lands
boarding time | boarding time; boarding; boards at; boarding at; 登机; 登机时间; 检票时间 | board
expiry date | expiry date; expiration date; expires; exp; exp date; valid until; valid thru; expiry;
  valid to; best before; use by; good until; valid through; expires on; 有效期; 有效期至; 失效日期;
  保质期; 有效期限; 到期日; 有效日期; 到期日期 | expire; run out; 过期
valid_from date | valid from; effective date; effective; effective on; start date; effective from; commencement date;
  date of commencement; commences; 生效日期; 起始日期; 开始日期; 开始时间 | start; begin; take effect
end_date date | end date; termination date; ends on; date of completion; completion date;
  结束日期; 终止日期; 截止时间; 结束时间 | end; finish
birth date | date of birth; dob; birth date; born; birthday; birthdate; 出生日期; 生日; 出生; 出生年月 |
ship_date date | ship date; shipped on; delivery date; delivered; dispatch date; delivered on;
  estimated delivery; expected delivery; date shipped; 发货日期; 送达日期; 配送时间; 送达时间; 预计送达;
  发货时间; 收货时间 | shipped; be delivered; 送到; 发货
pay_date date | pay date; payment date; date paid; paid on; pay day; date of payment; 发薪日;
  发放日期; 付款日期; 缴费日期; 支付日期; 发薪日期; 收款日期 |
report_date date | report date; reported; date of report; 报告日期; 报告时间; 打印日期; 打印时间 |
visit_date date | visit date; date of visit; date of service; service date; appointment date;
  collection date; collected; 就诊日期; 就诊时间; 采样时间; 检查日期; 服务日期 | visit; visited; appointment
time time | time; 时间; 时刻 | what time; 几点; 几时; 几点钟
entry time | entry; entry time; time in; in time; entered; 入场; 入场时间; 进场; 进场时间; 入口时间;
  驶入时间 | enter; drive in
exit time | exit; exit time; time out; out time; exited; 出场; 出场时间; 离场; 离场时间; 出口时间;
  驶出时间 | leave the car park
invoice_no code | invoice no; invoice number; invoice #; inv no; invoice id; inv #; invoice num;
  tax invoice no; 发票号码; 发票号; 发票编号; 票据号码; 票据号 |
bill_no code | bill no; bill number; bill #; 账单号; 账单编号 |
receipt_no code | receipt no; receipt number; receipt #; slip no; check no; check #; doc no;
  document no; document number; receipt id; rcpt no; 小票号; 收据编号; 收据号; 小票编号; 凭证号;
  收据号码; 凭证编号; 单据号; 单据编号 |
order_no code | order no; order number; order #; order id; order; 订单号; 订单编号; 订单号码; 单号;
  取餐号 |
po_no code | po number; po no; po #; purchase order; purchase order no; purchase order number; 采购单号 |
booking code | booking reference; confirmation number; reservation number; booking no; pnr;
  record locator; confirmation code; booking ref; booking number; confirmation no; confirmation;
  booking code; reservation no; booking id; confirmation #; 预订号; 确认号; 预订编号; 订房号; 预订单号 |
account_no code | account number; account no; acct no; acct number; customer number; customer no;
  client number; account; a c no; acct; account #; customer id; member no; membership number;
  member number; 账号; 账户号; 户号; 客户编号; 用户编号; 账户号码; 会员号; 客户号; 收款账号; 银行账号;
  会员卡号 |
reference code | reference; reference number; ref no; ref; reference no; case number; ref number;
  参考号; 编号; 业务编号 |
transaction_no code | transaction id; trans no; transaction number; transaction no; trans #;
  transaction #; trace no; auth code; approval code; 交易号; 交易单号; 流水号; 交易流水号; 授权码 |
certificate_no code | certificate no; certificate number; licence no; license no; license number;
  licence number; serial number; serial no; document no; 证书编号; 证号; 编码; 证书号; 执照编号 |
tracking code | tracking number; tracking no; tracking; waybill; 快递单号; 运单号; 物流单号 |
tax_id code | tax id; vat number; vat no; vat reg no; gst id; gst no; gst reg no; ein; tin; abn;
  tax number; vat registration; tax reg no; gst id no; vat id; sst id; gst registration;
  tax identification number; vat registration number; sst reg no; gst number; 税号; 纳税人识别号;
  统一社会信用代码; 信用代码; 纳税人税号 |
registration_no code | company no; reg no; co reg; registration no; registration number;
  company reg no; co reg no; co no; 注册号 |
id_no code | id number; id no; passport no; passport number; national id; employee id; employee no;
  student id; student no; patient id; patient no; staff id; mrn; ssn; member id; policy number;
  policy no; identity no; 身份证号; 身份证号码; 护照号; 护照号码; 工号; 学号; 病历号; 门诊号; 住院号; 员工编号;
  公民身份号码; 就诊卡号; 保单号; 证件号; 证件号码 |
phone phone | tel; telephone; phone; phone number; mobile; contact number; hotline; tel no;
  telephone number; phone no; ph; cell; 电话; 手机; 联系电话; 手机号; 客服电话; 电话号码; 手机号码; 热线;
  服务热线; 联系方式 | call
fax phone | fax; fax no; 传真 |
email email | email; e mail; email address; mail; 邮箱; 电子邮件; 电子邮箱; 邮件 |
website web | website; web site; web; url; homepage; 网址; 官网; 网站 |
card code | card number; card no; card; ending; ending in; card ending; 卡号; 尾号; 银行卡; 银行卡号 |
  last four; last 4; last digits; four digits; 末四位; 后四位
number code | number; no; num; nr; 号码 |
table code | table; table no; table number; tbl; 桌号; 台号; 桌台; 桌 | 几号桌; 哪桌
room code | room; room no; room number; 房号; 房间号; 房间; 病房 | 几号房; 几号房间; 哪个房间; 哪间房
seat code | seat; seat no; seat number; 座位; 座位号; 座号; 席位 | sitting; sit
gate code | gate; gate no; boarding gate; 登机口; 检票口 |
flight code | flight; flight no; flight number; 航班; 航班号 |
train code | train no; train number; 车次 | train
plate code | plate; license plate; licence plate; vehicle; plate no; plate number; vehicle no;
  number plate; registration plate; vehicle plate; 车牌; 车牌号; 车牌号码 |
sender name | sender; shipper; consignor; 寄件人; 发件人; 寄方 | sent it; sent by
vendor name | seller; vendor; lessor; landlord; 出租方; 甲方; merchant; supplier; sold by; issued by; issuer; store name; shop name;
  merchant name; company name; payee; biller; provider; 销售方; 卖方; 商户; 商户名称; 商家; 店名; 门店;
  收款方; 收款单位; 销方; 开票单位; 供应商; 卖家; 店铺; 销售方名称; 收款人全称; 门店名称; 商户名; 商家名称;
  销售单位 |
customer name | customer; client; received from; received with thanks from; insured; policyholder;
  policy holder; renter; tenant; lessee; 承租方; 乙方; 业主; 投保人; 被保险人; buyer; bill to; billed to; sold to; ship to; deliver to;
  recipient; account holder; customer name; attention; attn; invoice to; account name; bill for;
  prepared for; billing name; deliver to; purchaser; client name; invoiced to; payer; 购买方; 客户; 买方;
  购方; 客户名称; 付款方; 收货人; 收件人; 用户名; 户名; 付款人; 抬头; 购买方名称; 客户姓名; 账户名; 用户名称;
  付款单位; 购买人; 客户名; 交款人; 缴费人; 账户姓名 | 谁买; 买家; shipped to; delivered to; sent to; addressed to
guest name | guest; guest name; guest s; name of guest; 宾客; 客人; 住客; 宾客姓名; 客人姓名; 住客姓名; 入住人 | stayed; staying
passenger name | passenger; passenger name; name of passenger; traveller; traveler; 乘客; 旅客; 乘机人;
  旅客姓名; 乘客姓名; 乘车人 | flying; travelling; traveling
patient name | patient; patient name; name of patient; 患者; 病人; 患者姓名; 病人姓名 |
employee name | employee; employee name; staff name; 员工; 职工; 员工姓名; 职员; 职工姓名 |
person name | name; full name; holder; student; student name; participant; certify that; certifies that; presented to; awarded to;
  conferred upon; student; recipient name; 姓名; 名字; 持证人; 学员; 学生;
  学生姓名; 学员姓名 | received; recipient; graduate; earned; 持有人; 获得者
cashier name | cashier; served by; clerk; operator; sales person; salesperson; your cashier; 收银员; 营业员;
  操作员; 收银; 收款人; 开票人; 经办人 | 谁收银; checked me out
waiter name | server; waiter; waitress; your server; 服务员; 服务生 | served us; serve
doctor name | doctor; physician; dr; prescriber; attending physician; prescribed by; 医生; 医师;
  主治医师; 主治医生; 接诊医生; 开方医生 | prescribed
driver name | driver; driver name; 司机; 司机姓名 | drove
signatory name | director; signed by; signature; instructor; authorised by; manager; principal; 负责人;
  签字; 法定代表人; 法人 | signed
address place | address; location; premises; 地址; 住址; 住所; 经营场所 | where is; located; 在哪; 哪里; 位置;
  什么地方; 在什么地方
ship_address place | delivery address; shipping address; deliver to address; ship to address;
  收货地址; 送货地址; 配送地址 |
service_address place | service address; supply address; property address; 用电地址; 用水地址; 服务地址 |
payment_method text | payment method; paid by; paid with; payment type; method of payment;
  pay method; tender; payment mode; payment; payment via; mode of payment; 支付方式; 付款方式; 结算方式;
  缴费方式; 交易方式 | how did pay; how was it paid; what card; which card; pay with; pay by; pay using; paid using; 怎么付; 用什么付; 如何付;
  怎么支付; 用什么支付
origin place | from; departure city; depart from; origin; pick up; pickup; 出发地; 始发站; 出发站; 上车地点;
  起点; 始发地; 发站 | leave from; fly from; travel from; coming from; 从哪
destination place | to; destination; arrival city; drop off; dropoff; 目的地; 到达站; 终点; 下车地点; 终点站;
  到站 | go to; fly to; going to; heading; 去哪; 到哪
currency text | currency; currency code; 币种; 货币 |
title text | title; subject; re; course; topic; 课程; 标题; 主题; 课程名称 |
"""


@dataclass(frozen=True, slots=True)
class Term:
    """One thing that labels name and questions ask for.

    `kind` is the kind of its value: ``money date time code phone email web name place percent
    count text``.
    """

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class _Table:
    terms: dict[str, Term]
    labels: dict[str, str]
    """A phrase without its spaces -> the name of its term."""
    asks: dict[str, str]
    starts: set[str]
    """First words of phrases of several."""


@cache
def _table() -> _Table:
    table = _Table({}, {}, {}, set())
    for entry in re.split(r"\n(?=\w)", _TABLE.strip()):
        head, shared, asked = entry.split("|")
        name, kind = head.split()
        table.terms[name] = Term(name, kind)
        for phrases, names in ((shared, table.labels), (asked, table.asks)):
            for phrase in phrases.split(";"):
                tokens = _TOKEN.findall(folded(phrase))
                if tokens:
                    names.setdefault(_key(phrase), name)
                if len(tokens) > 1:
                    table.starts.add(tokens[0])
    return table


def term(name: str) -> Term:
    """Return the term of that name."""
    return _table().terms[name]


def _key(phrase: str) -> str:
    return "".join(_TOKEN.findall(folded(phrase))).replace("#", "no")


@dataclass(frozen=True, slots=True)
class Named:
    """A term in a text, with its place in the folded text. `asked` if only a question says so."""

    name: str
    start: int
    end: int
    asked: bool = False


_TOKEN = re.compile(rf"{CHINESE.pattern}|[^\W\d_\u3400-\u9fff\uf900-\ufaff]+|\d+|#")
_LONGEST_PHRASE = 6  # words
_LONGEST_CHINESE = 9  # characters
_JOINT = re.compile(r"[\s\-_.:/’'&()]{0,3}")
_CURRENCY_ENDS = ("rm", "usd", "eur", "gbp", "cny", "aud", "sgd", "hkd")  # TOTALRM
_CURRENCY_END = re.compile(f"(?:{'|'.join(_CURRENCY_ENDS)})$")

_TAX_WORD = r"(?:sales\s?)?(?:tax(?:es)?|vat|gst|sst|hst|service(?:\s?charges?)?|tips?)"
_INCLUDING = re.compile(
    rf"\(?\b(?:[il1]nc(?:l(?:uding|usive|uded|udes)?)?\b\.?|with|after|w/|in(?=\s?of))\s*(?:of\s*)?(?:[@\d.]+\s?%?\s*)?"
    rf"(?:the\s)?{_TAX_WORD}(?:\s?@?\s?[\d.]+\s?%)?\)?|[(（]?含税[)）]?|tax\s?included|tax\s?incl\.?"
    r"|after\s(?:rounding|adj\w*\b)|\brounded\b"
)
_EXCLUDING = re.compile(
    rf"\(?\b(?:excl(?:uding|usive|udes)?\b\.?|before|without|w/o|pre-?|net\sof)\s*(?:of\s*)?"
    rf"(?:[@\d.]+\s?%?\s*)?(?:the\s)?{_TAX_WORD}(?:\s?@?\s?[\d.]+\s?%)?\)?|[(（]?(?:不含税|税前)[)）]?"
)
_OVERRIDES_TOTAL = frozenset(
    """tax discount quantity item_count deductions tip service shipping net_pay gross_pay subtotal
    balance opening refund rounding interest paid due tendered received change duration""".split()
)


def label_terms(text: str) -> tuple[list[Named], str]:
    """Return the terms in a label, and the folded text with what they took blanked out.

    ``Total incl. GST`` is a total, ``Total excl. GST`` a subtotal and ``Total tax`` a tax.
    """
    return _terms(folded(text), in_question=False)


def asked_terms(text: str) -> tuple[list[Named], str]:
    """Return the terms in a question, and the folded text with what they took blanked out."""
    return _terms(folded(text), in_question=True)


def _terms(text: str, *, in_question: bool) -> tuple[list[Named], str]:
    found: list[Named] = []
    rest = text
    if match := _EXCLUDING.search(rest):
        rest = _blanked(rest, match.start(), match.end())
        found.append(Named("subtotal", match.start(), match.end()))
    else:
        for match in _INCLUDING.finditer(rest):
            rest = _blanked(rest, match.start(), match.end())
    found += _phrases(rest, in_question=in_question)
    for named in found:
        rest = _blanked(rest, named.start, named.end)
    names = {named.name for named in found}
    if "total" in names and names & _OVERRIDES_TOTAL:
        found = [named for named in found if named.name != "total"]
    return sorted(found, key=lambda named: named.start), rest


def _phrases(text: str, *, in_question: bool) -> Iterator[Named]:
    """Yield the longest phrases of the table in `text`, from left to right."""
    tokens = list(_TOKEN.finditer(text))
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if CHINESE.match(token.group()):
            yield from _chinese_phrases(token, in_question=in_question)
            position += 1
            continue
        words = _phrase_at(text, tokens, position)
        for length in range(len(words), 0, -1):
            name, asked = _lookup(words[length - 1], in_question=in_question)
            if name:
                yield Named(name, token.start(), tokens[position + length - 1].end(), asked)
                position += length
                break
        else:
            position += 1


_OFTEN_MISREAD = (
    "total subtotal amount balance discount invoice receipt number rounding inclusive change"
).split()


@lru_cache(maxsize=4096)
def _repaired(word: str) -> str:
    """Return the label word of which `word` is a misreading, if it is one: ``totai`` is total."""
    if len(word) < 4 or word in _table().starts or word in _table().labels or not word.isascii():
        return word
    for right in _OFTEN_MISREAD:
        if abs(len(right) - len(word)) <= 1 and likeness(right, word) >= 0.8:
            return right
    return "total" if word in ("tota", "otal") else word


def _phrase_at(text: str, tokens: list[re.Match[str]], position: int) -> list[str]:
    """Return the phrases, without spaces, that begin at a token: of one word, of two, …"""
    first = _repaired(tokens[position].group())
    if first not in _table().starts:
        return [first]
    phrases: list[str] = []
    joined = ""
    end = tokens[position].start()
    for token in tokens[position : position + _LONGEST_PHRASE]:
        is_near = _JOINT.fullmatch(text, end, token.start()) or not joined
        if not is_near or CHINESE.match(token.group()):
            break
        joined += "no" if token.group() == "#" else _repaired(token.group())
        phrases.append(joined)
        end = token.end()
    return phrases


def _chinese_phrases(token: re.Match[str], *, in_question: bool) -> Iterator[Named]:
    run = token.group()
    start = 0
    while start < len(run):
        for length in range(min(_LONGEST_CHINESE, len(run) - start), 0, -1):
            name, asked = _lookup(run[start : start + length], in_question=in_question)
            if name:
                begin = token.start() + start
                yield Named(name, begin, begin + length, asked)
                start += length
                break
        else:
            start += 1


_NOT_ASKED = frozenset({"to", "from", "re", "order", "payment", "name", "mail", "up", "number", "num"})
"""Labels that in a question are ordinary words."""


def _lookup(phrase: str, *, in_question: bool) -> tuple[str, bool]:
    table = _table()
    candidates = [phrase]
    if phrase.endswith("s"):
        candidates.append(phrase[:-1])
    if phrase.endswith(_CURRENCY_ENDS):
        candidates.append(_CURRENCY_END.sub("", phrase))
    for candidate in candidates:
        if in_question and candidate in _NOT_ASKED:
            return "", False
        if in_question and candidate in table.asks:
            return table.asks[candidate], True
        if candidate in table.labels:
            return table.labels[candidate], False
    return "", False


def _blanked(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]


def is_aside(text: str) -> bool:
    """Tell whether `text` begins with a remark on what a sum includes: ``incl. GST @ 6%``."""
    plain = folded(text).lstrip(" (（")
    return bool(_INCLUDING.match(plain) or _EXCLUDING.match(plain))


# What else answers a question for a term, and how well.
_ALSO = {
    "total": "subtotal .55 due .95 paid .85 amount .6 fare .5 balance .3 net_pay .4",
    "due": "total .85 balance .7 paid .5 minimum .3 amount .4",
    "paid": "total .9 due .75 tendered .5 amount .5 deposit .3 received .5",
    "amount": "total .9 due .88 paid .85 fare .7",
    "balance": "due .7",
    "tax": "tax_rate .3",
    "tax_rate": "tax .8",
    "tip": "service .5",
    "service": "tip .5",
    "discount": "",
    "tendered": "paid .5 received .5",
    "received": "paid .6 tendered .4",
    "deposit": "paid .3",
    "sender": "origin .9 vendor .6",
    "fare": "total .85 amount .8 paid .8 due .7",
    "quantity": "item_count .6",
    "item_count": "quantity .7",
    "date": "invoice_date .97 issue_date .95 order_date .95 transaction_date .95 statement_date .9"
    " visit_date .85 time .55 report_date .7 pay_date .7 period .5 check_in .55 departure .6"
    " entry .5 ship_date .5 valid_from .5 check_out .3 due_date .3 expiry .2 boarding .3",
    "invoice_date": "date .95 issue_date .9 transaction_date .8 statement_date .8 order_date .6",
    "issue_date": "date .9 invoice_date .9 report_date .6",
    "order_date": "transaction_date .9 date .9 invoice_date .75 issue_date .6 time .6",
    "transaction_date": "date .9 order_date .8 time .6 pay_date .7",
    "statement_date": "date .85 invoice_date .7 issue_date .7",
    "due_date": "pay_date .3 expiry .4 end_date .4",
    "expiry": "end_date .8 due_date .5",
    "end_date": "expiry .8 check_out .5",
    "valid_from": "check_in .4 date .4 issue_date .3",
    "visit_date": "date .9",
    "report_date": "date .9 issue_date .7",
    "pay_date": "date .8 transaction_date .8 period .3",
    "ship_date": "",
    "check_in": "arrival .7 entry .6 visit_date .3",
    "check_out": "departure .6 exit .6",
    "departure": "exit .75 check_out .3 time .4 date .3",
    "arrival": "entry .75 check_in .6",
    "boarding": "",
    "time": "transaction_date .6 order_date .6 date .55 departure .5 entry .5",
    "entry": "check_in .7 arrival .7",
    "exit": "check_out .7 departure .7",
    "invoice_no": "number .75 receipt_no .7 bill_no .8 reference .5 order_no .4",
    "bill_no": "number .75 invoice_no .85 receipt_no .7 account_no .3",
    "receipt_no": "number .7 invoice_no .8 transaction_no .7 order_no .6 bill_no .7 reference .5",
    "order_no": "number .7 receipt_no .5 reference .5 transaction_no .4 po_no .5 booking .5",
    "po_no": "order_no .5 reference .4",
    "booking": "number .5 reference .7 order_no .5",
    "reference": "booking .7 transaction_no .6 invoice_no .4 receipt_no .5 certificate_no .5",
    "transaction_no": "reference .7 receipt_no .5",
    "certificate_no": "number .8 reference .6 id_no .5 registration_no .5",
    "account_no": "number .5 id_no .4 card .4",
    "card": "account_no .5 payment_method .5",
    "tax_id": "registration_no .3",
    "registration_no": "tax_id .3 certificate_no .4",
    "phone": "",
    "vendor": "",
    "customer": "destination .75 guest .8 passenger .75 patient .75 person .8 employee .6",
    "guest": "customer .8 person .8",
    "passenger": "person .85 customer .6 guest .5",
    "patient": "person .85 customer .6",
    "employee": "person .85",
    "person": "passenger .9 patient .9 guest .9 employee .9 customer .8",
    "cashier": "waiter .8",
    "waiter": "cashier .75",
    "address": "service_address .7 ship_address .5",
    "ship_address": "address .6",
    "service_address": "address .7",
    "payment_method": "card .8 tendered .5",
    "table": "",
    "unit_price": "amount .5",
    "net_pay": "paid .5 total .4",
    "opening": "",
    "duration": "",
}
CLOSENESS: dict[str, dict[str, float]] = {
    name: {
        other: float(strength)
        for other, strength in zip(also.split()[::2], also.split()[1::2], strict=True)
    }
    | {name: 1.0}
    for name, also in _ALSO.items()
}


def closeness(asked: str, named: str) -> float:
    """Return from 0 to 1 how well a label for `named` answers a question for `asked`."""
    if asked == named:
        return 1.0
    return CLOSENESS.get(asked, {}).get(named, 0.0)
