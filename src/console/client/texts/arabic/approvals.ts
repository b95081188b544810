// Arabic sentences of approvals, and of the page that a link to them opens.
import { countArabic, inGenitive, listNames, writeNumber } from "./plural.ts";

const steps = (seqs: readonly number[]) =>
  `${seqs.length === 1 ? "الخطوة" : "الخطوات"} ${listNames(seqs.map(String))}`;
const read = (tool: string | null | undefined) =>
  tool === null ? "نداء الويب هوك" : tool === "read_page" ? "صفحة ويب" : "محتوى خارجي";
const are = (names: string | readonly string[], says: string) => {
  const all = [names].flat();
  return all.length === 1 ? `القيمة ${all[0]} ${says}` : `القيم ${listNames(all)} ${says}`;
};
const sources = (number: number) =>
  countArabic(number, {
    ...{ one: "مصدر واحد", two: "مصدرين", few: "# مصادر" },
    ...{ many: "# مصدراً", other: "# مصدر" },
  });

export const approvals = {
  "approvals.waiting": (number: number) => `${writeNumber(number)} بانتظار القرار`,
  "approvals.list.waiting": "بانتظار القرار",
  "approvals.list.decided": "حُسمت اليوم",
  "approvals.list.past": "محسومة",
  "approvals.show": "عرض",
  "approvals.filter.pending": "بانتظار القرار",
  "approvals.filter.decided": "محسومة",
  "approvals.filter.all": "الكل",
  "approvals.back": "العودة إلى القائمة",
  "approvals.empty":
    "لا موافقات بانتظار القرار. يطلبها الوكيل هنا قبل التعديل أو قبل نداء لا رجعة فيه.",
  "approvals.empty.decided": "لم تُحسم أي موافقة بعد.",
  "approvals.choose": "اختر موافقة لترى ما يريد وكيلها أن يفعله.",
  "approvals.missing": (id: string) => `لا توجد موافقة ${id}.`,
  "approvals.missing.list": "كل الموافقات",
  "approvals.asked": (ago: string) => `طُلبت قبل ${inGenitive(ago)} من`,
  "approvals.left": (span: string) => `بقي ${span}`,
  "approvals.over": "انتهت المهلة",
  "approvals.first": "انظر إلى هذا أولاً",
  "approvals.arguments": "الوسائط",
  "approvals.arguments.as": "طريقة العرض",
  "approvals.arguments.none": "لا وسائط لهذا النداء.",
  "approvals.arguments.more": (number: number) =>
    `يعرض الجدول أول ${writeNumber(number)}، ويعرض JSON الكل.`,
  "approvals.form.table": "جدول",
  "approvals.json.hidden": (codes: string) => `محارف مخفية، معروضة وسوماً: ${codes}.`,
  "approvals.argument": "الوسيط",
  "approvals.value": "القيمة",
  "approvals.value.cut": (characters: number) => ` … ${writeNumber(characters)} حرفاً`,
  "approvals.source": "المصدر",
  "approvals.earlier": (ago: string) => `قبل ${inGenitive(ago)}`,
  "approvals.why": "لماذا يطلب الموافقة",
  "approvals.outside": "ما قرأه من الخارج",
  "approvals.outside.none": "لم يقرأ في هذا التشغيل شيئاً من الخارج.",
  "approvals.outside.others": (seqs: readonly number[], isMore: boolean) =>
    `لا تحتوي ${isMore ? "البقية" : "المصادر"} أياً من هذه القيم: ${steps(seqs)}.`,
  "approvals.outside.missing": (seqs: readonly number[]) =>
    `لم يُبحث فيها لقدمها أو طولها: ${steps(seqs)}.`,
  "approvals.outside.hook": "الويب هوك الذي بدأ التشغيل",
  "approvals.step": (seq: number) => `الخطوة ${seq}`,
  "approvals.next": "ماذا يحدث بعد ذلك",
  "approvals.facts": "معلومات",
  "approvals.fact.run": "التشغيل",
  "approvals.fact.input": "المدخلات",
  "approvals.fact.account": "الحساب",
  "approvals.fact.started": "بدأه",
  "approvals.fact.cost": "التكلفة حتى الآن",
  "approvals.fact.cost.of": (budget: string) => `من ${budget} ر.س`,
  "approvals.fact.cost.sar": "ر.س",
  "approvals.fact.cost.label": "تكلفة التشغيل من ميزانيته",
  "approvals.fact.asked": "وقت الطلب",
  "approvals.fact.expires": "تنتهي المهلة",
  "approvals.fact.expires.in": (span: string) => `بعد ${inGenitive(span)}`,
  "approvals.fact.sha": "SHA-256 للوسائط",
  "approvals.fact.endpoint": "يُرسل إلى",
  "approvals.fact.deciders": "من يقرر",
  "approvals.trigger": (name: string) => `المشغّل ${name}`,
  "approvals.started.operator": (name: string) => `المسؤول ${name}`,
  "approvals.started.key": (name: string) => `المفتاح ${name}`,
  "approvals.deciders.all": (account: string) =>
    `المسؤولون، والموافقون، ومفاتيح ${account} التي يحق لها القرار.`,
  "approvals.deciders.barred": (names: readonly string[]) =>
    names.length === 1
      ? `إلا المفتاح ${names[0]}، لأنه بدأ التشغيل.`
      : `إلا المفاتيح ${listNames(names)}، لأنها بدأت التشغيل.`,
  "approvals.type": "اكتب",
  "approvals.to_approve": "للموافقة",
  "approvals.again": "اضغط A مرة أخرى للموافقة",
  approve: "موافقة",
  reject: "رفض",
  answer: "إجابة بديلة",
  reason: "السبب",
  "reason.hint": "يقرؤه الوكيل. 1,000 حرف على الأكثر.",
  "answer.label": "الرسالة",
  "answer.hint": "يقرؤها الوكيل نتيجةً للأداة.",
  send: "إرسال",
  cancel: "إبقاء الانتظار",
  "approvals.next.approve": "يُرسل النداء مرة واحدة بهذه الوسائط نفسها، ثم يتابع التشغيل بالنتيجة.",
  "approvals.next.again": "يُرسل النداء مرة أخرى بهذه الوسائط نفسها، ثم يتابع التشغيل بالنتيجة.",
  "approvals.next.reject": "لا يُرسل شيء. يقرأ الوكيل سببك ويتابع، ولا يُطلب النداء نفسه ثانية.",
  "approvals.next.answer": "لا يُرسل شيء. يقرأ الوكيل نصك نتيجةً للأداة.",
  "approvals.next.nobody": "إن لم يقرر أحد",
  "approvals.next.continue": (at: string) =>
    `تنتهي المهلة الساعة ${at} ولا يُرسل شيء. يُبلَّغ الوكيل بذلك ويتابع.`,
  "approvals.next.fail": (at: string) => `تنتهي المهلة الساعة ${at} ولا يُرسل شيء، ويخفق التشغيل.`,
  "approvals.next.expire": (at: string) => `تنتهي المهلة الساعة ${at} ولا يُرسل شيء.`,
  "approvals.act": "لم يُحفظ القرار.",
  "approvals.done.approved": "تمت الموافقة. يتابع التشغيل.",
  "approvals.done.rejected": "تم الرفض. يتابع التشغيل.",
  "approvals.done.answered": "تمت الإجابة. يتابع التشغيل.",
  "approvals.open_run": "فتح التشغيل",
  "approvals.gone.approved": (who: string, at: string) =>
    `حسم ${who} هذه الموافقة الساعة ${at}: موافقة.`,
  "approvals.gone.rejected": (who: string, at: string) =>
    `حسم ${who} هذه الموافقة الساعة ${at}: رفض.`,
  "approvals.gone.expired": (at: string) => `لم يقرر أحد. انتهت المهلة الساعة ${at}.`,
  "approvals.gone.closed": "انتهى التشغيل قبل أن يقرر أحد.",
  "approvals.gone.reason": (text: string) => `السبب: ${text}`,
  "approvals.by.key": (id: string) => `المفتاح ${id}`,
  "approvals.by.link": (person: string, operator: string) => `${person} (برابط من ${operator})`,
  "approvals.past.approved": (who: string) => `موافقة من ${who}`,
  "approvals.past.rejected": (who: string) => `رفض من ${who}`,
  "approvals.past.expired": "انتهت المهلة دون قرار",
  "approvals.past.closed": "أُغلقت مع تشغيلها",
  "risk.read": "قراءة",
  "risk.write": "تعديل",
  "risk.irreversible": "لا رجعة فيه",
  "risk.read.says": "يقرأ فقط.",
  "risk.write.says": "يغيّر شيئاً.",
  "risk.irreversible.says": "بعد التنفيذ لا يمكن التراجع عنه.",
  "why.irreversible": (tool: string) =>
    `الأداة ${tool} لا رجعة فيها، وكل نداء لها يحتاج إلى موافقة.`,
  "why.write": "سياسة الوكيل لا تسمح بأي تعديل دون شخص.",
  "why.listed": (tool: string) => `سياسة الوكيل تسمّي ${tool}، وكل نداء لها يحتاج إلى موافقة.`,
  "why.external_content": (number: number) =>
    number === 0
      ? "قرأ تشغيل سابق من هذه المحادثة محتوى خارجياً."
      : `قرأ التشغيل محتوى خارجياً من ${sources(number)} قبل أن يطلب.`,
  "why.outcome_unknown": "أُرسلت محاولة سابقة، ولا يُعلم هل نُفّذت. الموافقة ترسل النداء مرة أخرى.",
  "source.input": "من مدخلات التشغيل",
  "source.model": "كتبه النموذج",
  "source.same": (span: string) => `كما قبل ${inGenitive(span)}`,
  "source.inside": (tool: string, seq: number) => `من نتيجة ${tool}، الخطوة ${seq}`,
  "source.hook": "من الويب هوك الذي بدأ التشغيل فقط",
  "source.outside": (tool: string, seq: number) =>
    `من ${tool === "read_page" ? "صفحة خارجية" : "محتوى خارجي"} فقط، الخطوة ${seq}`,
  "first.new_outside": (names: readonly string[]) => are(names, "جديدة، ومصدرها خارجي."),
  "first.new_outside.says": (ago: string, tool: string | null | undefined) =>
    `أقرب نداء موافَق عليه، قبل ${inGenitive(ago)}، كانت له قيمة أخرى. ` +
    `وهذه القيمة لم ترد إلا في ${read(tool)} قرأه التشغيل.`,
  "first.outside": (names: readonly string[]) => are(names, "مصدرها خارجي."),
  "first.outside.says": (tool: string | null | undefined) =>
    `لم ترد القيمة إلا في ${read(tool)} قرأه التشغيل، وليست في مدخلاته.`,
  "first.changed": (names: readonly string[]) => are(names, "جديدة."),
  "first.changed.says": (ago: string) =>
    `أقرب نداء موافَق عليه، قبل ${inGenitive(ago)}، كانت له قيمة أخرى.`,
  "first.unknown": "ربما نُفّذت محاولة سابقة.",
  "first.unknown.says": "أُرسلت ولم يصل رد. اسأل المستلم قبل أن توافق.",
  "first.late": "بقي وقت قليل.",
  "first.late.says": (span: string) => `تنتهي المهلة بعد ${inGenitive(span)}.`,
  "first.hidden": (names: string | readonly string[]) => are(names, "فيها محارف مخفية."),
  "first.hidden.says": "تُعرض وسوماً. وقد يُقرأ النص في مكان آخر قراءة مختلفة.",
  "share.open": "سؤال زميل",
  "share.title": (tool: string) => `هل تسأل زميلاً أن يقرر «${tool}»؟`,
  "share.says": "يعرض الرابط هذه الموافقة وحدها. يُفتح مرة واحدة، وينتهي مع القرار.",
  "share.name": "اسم الزميل",
  "share.asked": (person: string, until: string) => `سُئل ${person}، والرابط حتى ${until}`,
  "share.name.hint": "يُذكر الشخص مع القرار، وأنت بوصفك منشئ الرابط.",
  "share.make": "إنشاء رابط",
  "share.keep": "إلغاء",
  "share.made": (person: string, until: string) =>
    `أرسل هذا الرابط إلى ${person}. يُفتح مرة واحدة، حتى ${until}.`,
  "share.made.title": "انسخ الرابط",
  "share.made.local": "يُفتح على هذا الجهاز فقط: اضبط operator.public_url في wadi.toml لغيره.",
  "share.link": "الرابط",
  "share.copy": "نسخ",
  "share.done": "تم",
  "guest.title": "قرار",
  "guest.link.none": "افتح الرابط الذي أُرسل إليك.",
  "guest.link.used": "استُخدم هذا الرابط من قبل، أو انتهت مدته: اطلب رابطاً آخر.",
  "guest.link.ended": "انتهى رابطك بانتهاء مدته أو أنهاه من أنشأه: اطلب رابطاً آخر.",
  "guest.link.left": "سجّلت الخروج. لم يعد الرابط يعمل: لتقرر، اطلب رابطاً آخر.",
  "guest.asks": (operator: string) => `يطلب ${operator} قرارك.`,
  "guest.one": (until: string) => `يعرض هذا الرابط هذا الطلب وحده، ويعمل حتى ${until}.`,
  "guest.account": (account: string, until: string) =>
    `يعرض هذا الرابط طلبات ${account}، ويعمل حتى ${until}.`,
  "guest.as": "تقرر باسم",
  "guest.stored": "يُحفظ اسمك والوقت مع القرار.",
  "guest.done.approved": (at: string) => `وافقت عليه الساعة ${at}. يتابع التشغيل.`,
  "guest.done.rejected": (at: string) => `رفضته الساعة ${at}. يتابع التشغيل.`,
  "guest.list": "طلبات بانتظار القرار",
  "guest.list.none": "لا طلب ينتظر قرارك.",
  "guest.back": "كل الطلبات",
};
