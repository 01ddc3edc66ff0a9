// English words too common to tell facts apart: neither indexed nor searched.

/**
 * Function words, and words that only frame a question (`what kind of`, `how many`).
 * `may` is absent on purpose: it is a month more often than dropping it would save anything.
 */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about after again all also am an and any are aren as at be because been before being ' +
    'both but by can could couldn did didn do does doesn doing don down during each few for ' +
    'from further had hadn has hasn have haven having he her here hers herself him himself ' +
    'his how i if in into is isn it its itself just kind let likely many me might more most ' +
    'much my myself no nor not now of off on once one only or other our ours ourselves out ' +
    'over own s same shan she should shouldn so some such t than that the their theirs them ' +
    'themselves then there these they this those through to too type under until up very was ' +
    'wasn we were weren what when where which while who whom why will with won would wouldn ' +
    'you your yours yourself yourselves'
  ).split(' '),
)
