// The sources of the catalogue: official texts, and what was read to confirm titles and dates.

export const SOURCES = {
  // Official texts.
  ai_act: {
    name: 'Regulation (EU) 2024/1689, EUR-Lex',
    url: 'https://eur-lex.europa.eu/eli/reg/2024/1689/oj',
  },
  gdpr: {
    name: 'Regulation (EU) 2016/679, EUR-Lex',
    url: 'https://eur-lex.europa.eu/eli/reg/2016/679/oj',
  },
  dora: {
    name: 'Regulation (EU) 2022/2554, EUR-Lex',
    url: 'https://eur-lex.europa.eu/eli/reg/2022/2554/oj',
  },
  nist_ai_rmf: {
    name: 'NIST AI 100-1, AI Risk Management Framework 1.0',
    url: 'https://doi.org/10.6028/NIST.AI.100-1',
  },
  iso_42001: { name: 'ISO/IEC 42001:2023', url: 'https://www.iso.org/standard/81230.html' },
  hipaa: {
    name: '45 CFR part 164, eCFR',
    url: 'https://www.ecfr.gov/current/title-45/subtitle-A/subchapter-C/part-164',
  },
  colorado_ag: {
    name: 'Colorado Attorney General on SB 26-189',
    url: 'https://coag.gov/resources/ai/',
  },

  // The Digital Omnibus on AI.
  omnibus_dla: {
    name: 'DLA Piper, Digital Omnibus on AI, 2 July 2026',
    url: 'https://dlapiper.vercel.app/en-at/insights/publications/law-in-tech/2026/digital-omnibus-on-ai',
  },
  omnibus_srd: {
    name: 'SRD Rechtsanwälte, Digital Omnibus AI',
    url: 'https://www.srd-rechtsanwaelte.de/en/blog/digital-omnibus-ai-what-is-changing-in-the-ai-act',
  },
  omnibus_df: {
    name: 'Decision Focus, The EU AI Act just changed, 3 July 2026',
    url: 'https://www.decisionfocus.com/articles/eu-ai-act-blog',
  },
  omnibus_epium: {
    name: 'Epium, EU AI Act omnibus deal',
    url: 'https://epium.com/news/eu-artificial-intelligence-act-omnibus-deal-delays-high-risk-rules/',
  },
  omnibus_getactready: {
    name: 'GetActReady, EU AI Act Digital Omnibus',
    url: 'https://www.getactready.com/blog/eu-ai-act-digital-omnibus-extension',
  },

  // Articles of the AI Act.
  ai_act_text: { name: 'ai-act-text.com', url: 'https://ai-act-text.com/article-12-ai-act' },

  // The GDPR.
  gdpr_text_99: {
    name: 'gdpr-text.com, Article 99',
    url: 'https://gdpr-text.com/hu/read/article-99/?col=2&lang1=no&lang2=en&lang3=de',
  },
  gdpr_beetle_99: { name: 'GDPRbeetle, Article 99', url: 'https://gdprbeetle.eu/99/' },
  gdpr_info: { name: 'gdprinfo.eu, table of articles', url: 'https://gdprinfo.eu/' },
  gdpr_kiprotect: { name: 'KIProtect, table of articles', url: 'https://kiprotect.com/kb/gdpr' },
  gdpr_prighter: {
    name: 'Prighter, table of articles',
    url: 'https://prighter.com/resources/legal/gdpr',
  },
  gdpr_isw: {
    name: 'ISW Legal, summaries of the articles',
    url: 'https://iswlegal.com/gdpr/article-summaries',
  },
  gdpr_isw_32: {
    name: 'ISW Legal, Article 32',
    url: 'https://iswlegal.com/gdpr/articles/article-32',
  },
  gdpr_isw_35: {
    name: 'ISW Legal, Article 35',
    url: 'https://iswlegal.com/gdpr/articles/article-35',
  },
  gdpr_hub_12: {
    name: 'GDPRhub, Article 12',
    url: 'https://gdprhub.eu/index.php?title=Article_12_GDPR',
  },
  gdpr_incorporated_12: {
    name: 'incorporated.zone, Article 12',
    url: 'https://incorporated.zone/article-12-gdpr/',
  },
  gdpr_rgpd_33: {
    name: 'rgpd.com, Article 33',
    url: 'https://rgpd.com/gdpr/chapter-4-controller-and-processor/article-33-notification-of-a-personal-data-breach-to-the-supervisory-authority/',
  },
  gdpr_commonaccord_33: {
    name: 'CommonAccord, Article 33',
    url: 'http://source.commonaccord.org/index.php?action=s&file=G/EU-GDPR-Law-CmA/Sec/Article/33.md',
  },
  gdpr_lawreg_35: {
    name: 'law-reg.org, Article 35',
    url: 'https://www.law-reg.org/gdpr-en1/document-structure/chapter-iv-controller-and-processor/article-35-data-protection-impact-assessment',
  },

  // Articles of DORA.
  dora_snellman: {
    name: 'Snellman, Digital Decade: articles of DORA',
    url: 'https://digitaldecade.snellman.com/?page_id=5910?art=0',
  },
  dora_springlex: {
    name: 'Springlex, DORA regulation',
    url: 'https://www.springlex.eu/packages/dora/dora-regulation',
  },

  dora_mccann: {
    name: 'McCann FitzGerald, on the date of DORA',
    url: 'https://mccannfitzgerald.com/knowledge/data-privacy-and-cyber-risk/dora-deadline-looms-esas-advise-entities-to-get-set-for-17-january-2025',
  },

  // Colorado.
  colorado_everyailaw: {
    name: 'everyailaw.com on SB 26-189',
    url: 'https://everyailaw.com/regulation/colorado-sb26-189/index.html',
  },
  colorado_aiclear: {
    name: 'aiclear.org, SB 26-189 checklist',
    url: 'https://aiclear.org/sb-26-189/compliance-checklist',
  },

  // NIST AI RMF.
  nist_ciso: {
    name: 'CISO Assistant, library of the NIST AI RMF 1.0',
    url: 'https://github.com/intuitem/ciso-assistant-community/blob/main/backend/library/libraries/nist-ai-rmf-1.0.yaml',
  },

  nist_secframe: {
    name: 'secframe, NIST AI RMF MEASURE 2.4',
    url: 'https://secframe.arnav.au/f/nist-ai-rmf/measure/MEASURE-2.4',
  },

  // ISO/IEC 42001.
  iso_controlstack: {
    name: 'Control Stack, ISO/IEC 42001:2023 Annex A',
    url: 'https://controlstack.au/controls/iso42001-annex-a-6-2-8-ai-system-recording-of-event-logs/',
  },
  iso_kimova: {
    name: 'Kimova, ISO 42001 control A.6.2.8',
    url: 'https://kimova.ai/blog/2025/ISO-42001-Annex-A-Control-A-6-2-8-AI-System-Recording-of-Event-Logs',
  },
  iso_online: {
    name: 'ISMS.online, ISO 42001 control A.6.2.6',
    url: 'https://www.isms.online/iso-42001/annex-a-controls/a-6-ai-system-life-cycle/a-6-2-6-ai-system-operation-and-monitoring',
  },
  iso_grecta: {
    name: 'Grecta, ISO 42001 Annex A controls',
    url: 'https://grecta.com/iso-42001-annex-a-controls/',
  },

  // HIPAA.
  hipaa_gpo_318: {
    name: 'GPO, 45 CFR 164.318 (2010)',
    url: 'http://www.gpo.gov/fdsys/pkg/CFR-2010-title45-vol1/xml/CFR-2010-title45-vol1-sec164-318.xml',
  },
  hipaa_govinfo_312: {
    name: 'GovInfo, 45 CFR 164.312 (2019)',
    url: 'https://www.govinfo.gov/content/pkg/CFR-2019-title45-vol2/xml/CFR-2019-title45-vol2-sec164-312.xml',
  },
  hipaa_gpo_316: {
    name: 'GPO, 45 CFR 164.316 (2008)',
    url: 'http://edocket.access.gpo.gov/cfr_2008/octqtr/45cfr164.316.htm',
  },
  hipaa_lawstack: {
    name: 'Lawstack, 45 CFR 164.316',
    url: 'https://law.lawstack.com/cfr/45/164.316/',
  },
  hipaa_gpo_matrix: {
    name: 'GPO, 45 CFR 164.318 with the matrix of the standards (2003)',
    url: 'http://edocket.access.gpo.gov/cfr_2003/octqtr/45cfr164.318.htm',
  },
} as const satisfies Record<string, { readonly name: string; readonly url: string }>

export type SourceName = keyof typeof SOURCES
