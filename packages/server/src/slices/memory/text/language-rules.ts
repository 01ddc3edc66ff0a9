// Words of the languages a store may name: months, stop words, and the language of a text.

import type { Language } from '@custos/contract'

/** Months by their lower-case names in the five languages, with and without accents: 1 to 12. */
export const MONTH_BY_NAME: ReadonlyMap<string, number> = new Map(
  [
    'january januar jänner enero janvier janeiro',
    'february februar febrero février fevereiro',
    'march märz marzo mars março',
    'april abril avril',
    'may mai mayo maio',
    'june juni junio juin junho',
    'july juli julio juillet julho',
    'august agosto août',
    'september septiembre setiembre septembre setembro',
    'october oktober octubre octobre outubro',
    'november noviembre novembre novembro',
    'december dezember diciembre décembre dezembro',
  ].flatMap((names, at) =>
    names.split(' ').flatMap((name) => [name, foldAccents(name)].map((n) => [n, at + 1] as const)),
  ),
)

/** Abbreviated months of the five languages, without a full stop: 1 to 12. */
export const MONTH_BY_ABBREVIATION: ReadonlyMap<string, number> = new Map(
  'jan ene|feb fev|mar|apr abr avr|may|jun|jul juil|aug|sep sept|oct okt|nov|dec dez dic'
    .split('|')
    .flatMap((words, at) => words.split(' ').map((word) => [word, at + 1] as const)),
)

/** Latin letters without their accents, `ß` as `ss`: a word in lower case. */
export function foldAccents(word: string): string {
  if (!/[\u0080-\uffff]/.test(word)) return word
  const bare = word.normalize('NFD').replace(/([a-z])[\u0300-\u036f]+/g, '$1')
  return bare.normalize('NFC').replaceAll('ß', 'ss').replaceAll('œ', 'oe').replaceAll('æ', 'ae')
}

/**
 * Function words and words that only frame a question (`what kind of`, `how many`), without
 * accents: neither indexed nor searched. `may` is missing, which is often the month, and `hier`,
 * which is `here` in German and `yesterday` in French.
 */
const STOP_WORDS_OF: Readonly<Record<Language, string>> = {
  en:
    'a about after again all also am an and any are aren as at be because been before being ' +
    'both but by can could couldn did didn do does doesn doing don down during each few for ' +
    'from further had hadn has hasn have haven having he her here hers herself him himself ' +
    'his how i if in into is isn it its itself just kind let likely many me might more most ' +
    'much my myself no nor not now of off on once one only or other our ours ourselves out ' +
    'over own s same shan she should shouldn so some such t than that the their theirs them ' +
    'themselves then there these they this those through to too type under until up very was ' +
    'wasn we were weren what when where which while who whom why will with won would wouldn ' +
    'you your yours yourself yourselves',
  de:
    'aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim ' +
    'bin bis bist da dabei damit danach dann das dass davon dazu dein deine deinem deinen ' +
    'deiner dem den denn der deren des dessen dich die dies diese diesem diesen dieser dieses ' +
    'dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer eure fur ' +
    'gegen habe haben habt hast hat hatte hatten ich ihm ihn ihnen ihr ihre ihrem ihren ihrer ' +
    'im in ins ist ja jede jedem jeden jeder jedes jetzt kann kannst kein keine keinen konnen ' +
    'konnte mal man mehr mein meine meinem meinen meiner mich mir mit muss nach nicht nichts ' +
    'noch nun nur ob oder ohne schon sehr sein seine seinem seinen seiner seit sich sie sind ' +
    'so soll sollte uber um und uns unser unsere unter viel viele vom von vor wann war waren ' +
    'warst warum was weil welche welchem welchen welcher welches wem wen wenn wer werde ' +
    'werden wie wieder will wir wird wo woher wohin wurde wurden zu zum zur zwischen',
  es:
    'a al algo algun alguna algunas alguno algunos ante aquel aquella asi aun aunque bien ' +
    'cada casi como con contra cual cuales cuando cuanta cuantas cuanto cuantos de del desde ' +
    'donde e el ella ellas ellos en entre era eran eres es esa esas ese eso esos esta estaba ' +
    'estaban estamos estan estar estas este esto estos estoy fue fueron ha habia han has ' +
    'hasta hay he hemos la las le les lo los mas me mi mis mucho muchos muy nada ni no nos ' +
    'nosotros nuestra nuestro o os otra otro para pero poco por porque que quien quienes se ' +
    'sea ser si sido sin sobre son soy su sus tambien tan tanto te tenia tiene tienen toda ' +
    'todas todo todos tu tus un una unas uno unos usted ustedes y ya yo',
  fr:
    'a ai as au aujourd aussi autre autres aux avais avait avant avec avez avoir avons ' +
    'beaucoup bien c ca car ce cela ces cet cette ceux chaque chez combien comme comment d ' +
    'dans de des donc dont du elle elles en encore est et etaient etait etant etes etre eu ' +
    'fait fois font fut hui il ils j je jusqu l la laquelle le lequel les lesquels leur leurs ' +
    'lorsqu lui m ma mais me meme mes moi mon n ne ni nos notre nous on ont ou par parce pas ' +
    'peu peut plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se ' +
    'sera ses si son sont sous suis sur t ta te tes toi ton tous tout toute toutes tres tu un ' +
    'une vos votre vous y',
  pt:
    'a ao aos aquela aquele aquilo as ate cada com como contra da das de dela dele deles ' +
    'depois do dos e ela elas ele eles em entre era eram essa essas esse esses esta estao ' +
    'estar estas estava estavam este estes estou eu foi foram ha isso isto ja la lhe lhes ' +
    'mais mas me mesmo meu meus minha minhas muito muitos na nao nas nem no nos nossa nosso ' +
    'num numa o onde os ou para pela pelas pelo pelos por porque quais qual quando quanta ' +
    'quantas quanto quantos que quem se sem ser seu seus so sob sobre sua suas tambem te tem ' +
    'tenho teu teve tinha tu tua um uma umas uns voce voces',
}

const listWords = (language: Language) => new Set(STOP_WORDS_OF[language].split(' '))

const STOP_WORDS: Readonly<Record<Language, ReadonlySet<string>>> = {
  en: listWords('en'),
  de: listWords('de'),
  es: listWords('es'),
  fr: listWords('fr'),
  pt: listWords('pt'),
}

/** Whether a word in lower case and without accents is a stop word of the language. */
export const isStopWord = (word: string, language: Language): boolean =>
  STOP_WORDS[language].has(word)

/** The languages with the most stop words among the words of a text: one, or several that tie. */
export function guessLanguages(
  words: readonly string[],
  languages: readonly Language[],
): readonly Language[] {
  const counts = languages.map(
    (language) => words.filter((word) => isStopWord(word, language)).length,
  )
  const most = Math.max(...counts)
  return languages.filter((_, at) => counts[at] === most)
}

/**
 * Endings by language in steps. Each step replaces the first ending that fits; `:n` is the least
 * number of letters of the word. The rules unite plural, gender and case, and few verb forms, like
 * J. Savoy, Light stemming approaches for the French, Portuguese, German and Hungarian languages,
 * SAC 2006.
 */
const ENDINGS_OF: Readonly<Record<Exclude<Language, 'en'>, readonly string[]>> = {
  de: [
    'innen>in:8 ern>:6 em>:5 en>:5 er>:5 es>:5 e>:4 bs>b:4 ds>d:4 fs>f:4 gs>g:4 hs>h:4 ks>k:4 ' +
      'ls>l:4 ms>m:4 ns>n:4 ts>t:4',
    'est>:6 en>:5 er>:5 dst>d:5 fst>f:5 gst>g:5 hst>h:5 kst>k:5 lst>l:5 mst>m:5 nst>n:5 tst>t:5',
  ],
  es: ['eses>es:6 ces>z:5 os>:5 as>:5 es>:5 o>:4 a>:4 e>:4'],
  fr: [
    'eaux>eau:5 aux>al:6 x>:4 s>:4',
    'issement>ir:10 issant>ir:9 ivement>if:9 ement>e:7 ive>if:6 euse>eu:6 trice>teur:8 elle>el:6 ' +
      'enne>en:6',
    'ee>:5 er>:5 ez>:5 re>r:5 e>:4',
    'er>:5 ll>l:4 nn>n:4 ss>s:4 tt>t:4',
  ],
  pt: [
    'oes>ao:4 aes>ao:4 ais>al:5 eis>el:5 ois>ol:5 ns>m:4 res>r:5 ses>s:5 zes>z:5 s>:4',
    'mente>:8',
    'a>:4 e>:4 o>:4',
  ],
}

const ENDINGS = new Map(
  Object.entries(ENDINGS_OF).map(([language, steps]) => [
    language,
    steps.map((step) =>
      step.split(' ').map((rule) => {
        const [, ending = '', replacement = '', letters] = /^(.+)>(.*):(\d+)$/.exec(rule) ?? []
        return { ending, replacement, letters: Number(letters) }
      }),
    ),
  ]),
)

/** The stem of a word in lower case and without accents. Only ASCII letters are stemmed. */
export function stripEndings(word: string, language: Language): string {
  if (!/^[a-z]{4,}$/.test(word)) return word
  let stem = word
  for (const step of ENDINGS.get(language) ?? []) {
    const rule = step.find(({ ending, letters }) => stem.length >= letters && stem.endsWith(ending))
    if (rule) stem = stem.slice(0, -rule.ending.length) + rule.replacement
  }
  return stem
}
