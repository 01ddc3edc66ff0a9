// English words whose other forms no ending rule reaches: a question says `go`, the answer `went`.

const FORMS = [
  'become became|begin began begun|bite bit bitten|blow blew blown|break broke broken',
  'bring brought|build built',
  'buy bought|catch caught|choose chose chosen|come came|deal dealt|draw drew drawn',
  'drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feel felt|fight fought',
  'find found|fly flew flown|forget forgot forgotten|forgive forgave forgiven|freeze froze frozen',
  'get got gotten|give gave given|go went gone|grow grew grown|hang hung|hear heard',
  'hide hid hidden|hold held|keep kept|know knew known|lay laid|lead led|learn learnt|leave left',
  'lend lent|lose lost|make made|mean meant|meet met|pay paid|ride rode ridden|ring rang rung',
  'rise rose risen|run ran|say said|see saw seen|seek sought|sell sold|send sent',
  'shake shook shaken|shine shone|shoot shot|show shown|sing sang sung|sit sat|sleep slept',
  'speak spoke spoken|spend spent|stand stood|steal stole stolen|stick stuck|strike struck',
  'swim swam swum|take took taken|teach taught|tear tore torn|tell told|think thought',
  'throw threw thrown|understand understood|wake woke woken|wear wore worn|win won',
  'write wrote written|man men|woman women|child children|person people|foot feet|tooth teeth',
  'mouse mice|life lives|wife wives|knife knives|leaf leaves',
]

/** The base form by irregular form. */
export const BASE_BY_FORM: ReadonlyMap<string, string> = new Map(
  FORMS.flatMap((line) => line.split('|')).flatMap((group) => {
    const [base = '', ...forms] = group.split(' ')
    return forms.map((form) => [form, base] as const)
  }),
)
