// The style of a report's page: on screens of any width, and on paper.

export const STYLE = `
:root { color-scheme: light }
* { box-sizing: border-box } html { font-size: 15px }
body { font: 1rem/1.5 system-ui, sans-serif; color: #111; background: #fff; margin: 2rem auto;
  max-width: 58rem; padding: 0 1rem }
header p { margin: 0; font-size: 1.05rem } header p:first-child { font-weight: 600 }
h1 { font-size: 1.8rem; line-height: 1.25; margin: .2rem 0; overflow-wrap: anywhere }
h2 { margin: 2.4rem 0 .8rem; border-bottom: 2px solid #111; font-size: 1.35rem }
h3 { margin: 1.6rem 0 .3rem; font-size: 1.05rem } p { margin: .35rem 0 }
a { color: inherit } figure { margin: .5rem 0; overflow-x: auto }
table { border-collapse: collapse; width: 100%; font-size: .92rem }
table { margin: .6rem 0 }
th, td { border: 1px solid #555; padding: .25rem .5rem; text-align: left; vertical-align: top }
th { background: #e9e9e9 } .facts th { width: 12.5rem }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
td.address { overflow-wrap: anywhere; min-width: 14rem }
code { font-size: .86em; overflow-wrap: anywhere }
.finding { font-weight: 600; white-space: nowrap; font-size: .92em }
.patterns { position: absolute } .patch { width: .85em; height: .85em; vertical-align: -.08em }
.chart { display: block; width: 100%; min-width: 32rem; font-family: system-ui, sans-serif }
.small { font-size: .88rem; color: #333 }
.records { list-style: none; padding: 0; margin: .3rem 0; columns: 24rem; font-size: .88rem }
.records li { break-inside: avoid } .records span { display: inline-block; min-width: 4.5rem;
  text-align: right; padding-right: .6rem; font-variant-numeric: tabular-nums }
@media screen and (max-width: 40rem) {
  body { margin: 1rem auto } .facts th { width: 8rem }
  .rows, .rows tbody, .rows tr { display: block } .rows thead { display: none }
  .rows tr { border: 1px solid #555; margin: .5rem 0; padding: .15rem .4rem }
  .rows td, .rows td.number { border: 0; display: flex; gap: .6rem; padding: .1rem 0;
    text-align: left; white-space: normal }
  .rows td::before { content: attr(data-head); flex: 0 0 6.5rem; color: #333; font-size: .88rem }
}
@media print {
  @page { margin: 18mm 15mm }
  html { font-size: 10.5px } body { max-width: none; margin: 0; padding: 0 }
  h2, h3, h2 + p { break-after: avoid } section, tr, figure { break-inside: avoid }
  figure { overflow: visible } .chart { min-width: 0 } a { text-decoration: none }
}
`
