// Sentences of the language sets in German and Spanish. No slot needs inflection.

export const list = (values: string): string[] => values.split('; ')
export const pairs = (values: string): string[][] => list(values).map((pair) => pair.split('/'))

/** `{p}` is a person, `{v}` a value, `{f}` another form of its word, `{w}` a date. */
export interface LanguagePhrases {
  readonly people: readonly string[]
  readonly months: readonly string[]
  /** `last Sunday` and so on, as adverbials. */
  readonly last_weekdays: readonly string[]
  readonly yesterday: string
  readonly two_weeks_ago: string
  /** With `{d}`, `{m}` and `{y}`: numbers in `on_digits`, the name of the month in the others. */
  readonly on_date: string
  readonly on_digits: string
  readonly in_month: string
  readonly direct: readonly { says: string; asks: string; values: readonly string[] }[]
  /** The question has a word in another form than the statement: number or tense. */
  readonly nouns: readonly { says: string; asks: string; forms: readonly string[][] }[]
  readonly verbs: readonly { says: string; asks: string; values: readonly string[] }[]
  readonly events: readonly (readonly [says: string, asks: string])[]
  readonly asks_on: string
  readonly changing: readonly {
    readonly says: string
    readonly says_again: string
    readonly asks: string
    readonly values: readonly string[]
  }[]
  readonly small_talk: readonly string[]
}

export const ROOMS = list('1.014; 2.207; 3.118; 4.025; 5.310; 6.003')
export const DIGITS = list('417; 582; 936; 204; 751; 869')
export const TRACKS = list('2; 4; 7; 9; 11; 12')

export const GERMAN: LanguagePhrases = {
  people: list('Anke; Björn; Carsten; Doris; Friedrich; Gisela; Holger; Jutta; Lothar; Sabine'),
  months: list(
    'Januar; Februar; März; April; Mai; Juni; Juli; August; September; Oktober; November; Dezember',
  ),
  last_weekdays: list(
    'letzten Sonntag; letzten Montag; letzten Dienstag; letzten Mittwoch; letzten Donnerstag; ' +
      'letzten Freitag; letzten Samstag',
  ),
  yesterday: 'gestern',
  two_weeks_ago: 'vor zwei Wochen',
  on_date: 'am {d}. {m}',
  on_digits: 'am {d}.{m}.{y}',
  in_month: 'im {m} {y}',
  direct: [
    {
      says: 'Ich bin gegen {v} allergisch.',
      asks: 'Wogegen ist {p} allergisch?',
      values: list('Erdnüsse; Sellerie; Senf; Sesam; Haselnüsse; Erdbeeren'),
    },
    {
      says: 'Mein Hund heißt {v}.',
      asks: 'Wie heißt der Hund von {p}?',
      values: list('Bello; Keks; Wolke; Strolch; Mohrle; Pauli'),
    },
    {
      says: 'Ich lerne {v} an der Musikschule.',
      asks: 'Welches Instrument lernt {p} an der Musikschule?',
      values: list('Geige; Klavier; Trompete; Harfe; Klarinette; Schlagzeug'),
    },
    {
      says: 'Mein Lieblingsessen ist {v}.',
      asks: 'Was ist das Lieblingsessen von {p}?',
      values: list('Linsensuppe; Kartoffelsalat; Rinderbraten; Milchreis; Zwiebelkuchen; Grünkohl'),
    },
    {
      says: 'Der Ersatzschlüssel liegt {v}.',
      asks: 'Wo liegt der Ersatzschlüssel von {p}?',
      values: list(
        'unter der Fußmatte; im Blumentopf; hinter dem Briefkasten; unter der Gießkanne; ' +
          'in der Garage; auf dem Schrank',
      ),
    },
    {
      says: 'Mein Zug fährt von Gleis {v}.',
      asks: 'Von welchem Gleis fährt der Zug von {p}?',
      values: TRACKS,
    },
    {
      says: 'Ich habe das Hotel {v} gebucht.',
      asks: 'Welches Hotel hat {p} gebucht?',
      values: list('Seeblick; Montana; Goldener Hirsch; Alpenrose; Villa Flora; Hafenhof'),
    },
    {
      says: 'Ich sehe gerade die Serie {v}.',
      asks: 'Welche Serie sieht {p} gerade?',
      values: list(
        'Das letzte Ufer; Winter im Hafen; Neun Stufen; Die Salzstraße; Nordlicht; Glastal',
      ),
    },
  ],
  nouns: [
    {
      says: 'Wir haben zwei {v} gekauft.',
      asks: 'Wer besitzt {f}?',
      forms: pairs(
        'Fahrräder/ein Fahrrad; Hühner/ein Huhn; Wörterbücher/ein Wörterbuch; ' +
          'Schränke/einen Schrank; Kühe/eine Kuh; Mäntel/einen Mantel',
      ),
    },
    {
      says: 'Im Garten wachsen jetzt {v}.',
      asks: 'Bei wem wächst {f}?',
      forms: pairs(
        'Apfelbäume/ein Apfelbaum; Rosen/eine Rose; Sonnenblumen/eine Sonnenblume; ' +
          'Kürbisse/ein Kürbis; Nussbäume/ein Nussbaum; Tannen/eine Tanne',
      ),
    },
    {
      says: 'Ich sammle alte {v}.',
      asks: 'Wer hat {f} in der Sammlung?',
      forms: pairs(
        'Münzen/eine Münze; Uhren/eine Uhr; Landkarten/eine Landkarte; ' +
          'Schallplatten/eine Schallplatte; Briefmarken/eine Briefmarke; Puppen/eine Puppe',
      ),
    },
  ],
  verbs: [
    {
      says: 'Ich schrieb einen langen Brief an {v}.',
      asks: 'An wen schreibt {p} Briefe?',
      values: list('meine Tante; meinen Lehrer; die Zeitung; den Bürgermeister'),
    },
    {
      says: 'Ich flog über {v} nach Hause.',
      asks: 'Über welche Stadt fliegt {p} nach Hause?',
      values: list('Zürich; Wien; Amsterdam; Kopenhagen'),
    },
    {
      says: 'Ich fand auf dem Dachboden {v}.',
      asks: 'Was hat {p} auf dem Dachboden gefunden?',
      values: list('eine Geige; einen Helm; alte Liebesbriefe; ein Radio'),
    },
    {
      says: 'Ich trank jeden Abend {v}.',
      asks: 'Was trinkt {p} abends?',
      values: list('Pfefferminztee; Kakao; Apfelsaft; Buttermilch'),
    },
    {
      says: 'Ich las ein Buch über {v}.',
      asks: 'Worüber hat {p} Bücher gelesen?',
      values: list('Vulkane; Pilze; Segelschiffe; Bienen'),
    },
    {
      says: 'Ich half {v} beim Umzug.',
      asks: 'Wem hat {p} beim Umziehen geholfen?',
      values: list('meiner Schwester; meinem Kollegen; den Nachbarn; meinem Onkel'),
    },
  ],
  events: [
    ['Ich war {w} beim Zahnarzt.', 'Wann war {p} beim Zahnarzt?'],
    ['Ich habe {w} die Küche gestrichen.', 'Wann hat {p} die Küche gestrichen?'],
    ['Ich habe {w} mein Auto verkauft.', 'Wann hat {p} das Auto verkauft?'],
    ['Mir wurde {w} das Fahrrad gestohlen.', 'Wann wurde {p} das Fahrrad gestohlen?'],
    ['Ich bin {w} den Halbmarathon gelaufen.', 'Wann ist {p} den Halbmarathon gelaufen?'],
    ['Ich habe {w} Blut gespendet.', 'Wann hat {p} Blut gespendet?'],
    ['Ich habe {w} die Prüfung bestanden.', 'Wann hat {p} die Prüfung bestanden?'],
    ['Ich habe {w} eine Katze aufgenommen.', 'Wann hat {p} eine Katze aufgenommen?'],
  ],
  asks_on: 'Was war {w} bei {p} los?',
  changing: [
    {
      says: 'Ich wohne in {v}.',
      says_again: 'Ich bin umgezogen und wohne jetzt in {v}.',
      asks: 'Wo wohnt {p}?',
      values: list('Kassel; Leipzig; Graz; Basel; Rostock; Ulm'),
    },
    {
      says: 'Mein Büro ist Raum {v}.',
      says_again: 'Mein Büro ist ab heute Raum {v}.',
      asks: 'In welchem Raum ist das Büro von {p}?',
      values: ROOMS,
    },
    {
      says: 'Meine Telefonnummer endet auf {v}.',
      says_again: 'Ich habe eine neue Telefonnummer, sie endet auf {v}.',
      asks: 'Auf welche Ziffern endet die Telefonnummer von {p}?',
      values: DIGITS,
    },
    {
      says: 'Ich fahre mit {v} zur Arbeit.',
      says_again: 'Inzwischen fahre ich mit {v} zur Arbeit.',
      asks: 'Womit fährt {p} zur Arbeit?',
      values: list('dem Fahrrad; dem Bus; der Straßenbahn; dem Auto; der Fähre; dem Roller'),
    },
  ],
  small_talk: [
    'Das Wetter ist seit Tagen grau.',
    'Ich bin heute sehr müde.',
    'Hast du am Donnerstag Zeit?',
    'Wir sollten bald zusammen essen gehen.',
    'Der Bus kam wieder zu spät.',
    'Ich habe schon wieder meinen Schirm vergessen.',
    'Danke, das freut mich sehr.',
    'Die Nachbarn feiern schon wieder.',
    'Hier ist es im Moment sehr ruhig.',
    'Die Besprechung hat Stunden gedauert.',
    'Ich habe viel zu viel gekocht.',
    'Das klingt wunderbar.',
    'Meine Großmutter hat mir eine Karte geschickt.',
    'Mein Telefon ist fast leer.',
    'Die Heizung ist kaputt.',
    'Ich habe schlecht geschlafen.',
    'Am Sonntag ist Markt in der Altstadt.',
    'Erzähl mir später mehr davon.',
    'Ich muss noch einkaufen.',
    'Die Straße wird wieder aufgerissen.',
    'Wir haben gestern Karten gespielt.',
    'Ich freue mich auf das Wochenende.',
  ],
}

export const SPANISH: LanguagePhrases = {
  people: list('Álvaro; Begoña; Carmen; Diego; Esteban; Gloria; Ignacio; Lourdes; Ramón; Teresa'),
  months: list(
    'enero; febrero; marzo; abril; mayo; junio; julio; agosto; septiembre; octubre; noviembre; ' +
      'diciembre',
  ),
  last_weekdays: list(
    'el domingo pasado; el lunes pasado; el martes pasado; el miércoles pasado; ' +
      'el jueves pasado; el viernes pasado; el sábado pasado',
  ),
  yesterday: 'ayer',
  two_weeks_ago: 'hace dos semanas',
  on_date: 'el {d} de {m}',
  on_digits: 'el {d}/{m}/{y}',
  in_month: 'en {m} de {y}',
  direct: [
    {
      says: 'Tengo alergia {v}.',
      asks: '¿A qué tiene alergia {p}?',
      values: list(
        'a los cacahuetes; al apio; a la mostaza; al sésamo; a las avellanas; a las fresas',
      ),
    },
    {
      says: 'Mi perro se llama {v}.',
      asks: '¿Cómo se llama el perro de {p}?',
      values: list('Canela; Trufa; Lucero; Chispa; Nube; Bigotes'),
    },
    {
      says: 'Estudio {v} en la escuela de música.',
      asks: '¿Qué instrumento estudia {p} en la escuela de música?',
      values: list('violín; piano; trompeta; arpa; clarinete; batería'),
    },
    {
      says: 'Mi plato favorito es {v}.',
      asks: '¿Cuál es el plato favorito de {p}?',
      values: list(
        'la tortilla de patatas; el gazpacho; la lasaña; el arroz negro; el cocido; la fabada',
      ),
    },
    {
      says: 'La llave de repuesto está {v}.',
      asks: '¿Dónde está la llave de repuesto de {p}?',
      values: list(
        'debajo del felpudo; en la maceta; detrás del buzón; bajo la regadera; en el garaje; ' +
          'sobre el armario',
      ),
    },
    {
      says: 'Mi tren sale de la vía {v}.',
      asks: '¿De qué vía sale el tren de {p}?',
      values: TRACKS,
    },
    {
      says: 'He reservado el hotel {v}.',
      asks: '¿Qué hotel ha reservado {p}?',
      values: list('Miramar; Las Palmeras; Montana; Tres Robles; Villa Flora; Aurora'),
    },
    {
      says: 'Estoy viendo la serie {v}.',
      asks: '¿Qué serie está viendo {p}?',
      values: list(
        'La última orilla; Invierno en el puerto; Nueve escalones; El valle de sal; ' +
          'Luz del norte; Papel mojado',
      ),
    },
  ],
  nouns: [
    {
      says: 'Compramos {v}.',
      asks: '¿Quién tiene {f}?',
      forms: pairs(
        'dos bicicletas/una bicicleta; dos gallinas/una gallina; ' +
          'dos diccionarios/un diccionario; dos armarios/un armario; ' +
          'dos lámparas/una lámpara; dos sillones/un sillón',
      ),
    },
    {
      says: 'En el jardín crecen ahora {v}.',
      asks: '¿En casa de quién crece {f}?',
      forms: pairs(
        'manzanos/un manzano; rosales/un rosal; girasoles/un girasol; calabazas/una calabaza; ' +
          'nogales/un nogal; tulipanes/un tulipán',
      ),
    },
    {
      says: 'Colecciono {v}.',
      asks: '¿Quién tiene {f} en su colección?',
      forms: pairs(
        'monedas/una moneda; relojes/un reloj; mapas/un mapa; sellos/un sello; ' +
          'muñecas/una muñeca; postales/una postal',
      ),
    },
  ],
  verbs: [
    {
      says: 'Escribí una carta larga {v}.',
      asks: '¿A quién suele escribir cartas {p}?',
      values: list('a mi tía; al alcalde; al periódico; a mi maestra'),
    },
    {
      says: 'Volé a casa con escala en {v}.',
      asks: '¿En qué ciudad hace escala {p} cuando vuela a casa?',
      values: list('Lisboa; París; Ginebra; Londres'),
    },
    {
      says: 'Encontré {v} en el desván.',
      asks: '¿Qué ha encontrado {p} en el desván?',
      values: list('un violín; un casco; unas cartas antiguas; una radio'),
    },
    {
      says: 'Bebía {v} todas las noches.',
      asks: '¿Qué bebe {p} por la noche?',
      values: list('infusión de menta; cacao; zumo de manzana; leche con miel'),
    },
    {
      says: 'Leí un libro sobre {v}.',
      asks: '¿Sobre qué tema ha leído {p}?',
      values: list('volcanes; setas; veleros; abejas'),
    },
    {
      says: 'Ayudé {v} con la mudanza.',
      asks: '¿A quién ayuda {p} a mudarse?',
      values: list('a mi hermana; a mi compañero; a los vecinos; a mi tío'),
    },
  ],
  events: [
    ['Fui al dentista {w}.', '¿Cuándo fue {p} al dentista?'],
    ['Pinté la cocina {w}.', '¿Cuándo pintó {p} la cocina?'],
    ['Vendí el coche {w}.', '¿Cuándo vendió {p} el coche?'],
    ['Me robaron la bicicleta {w}.', '¿Cuándo le robaron la bicicleta a {p}?'],
    ['Corrí la media maratón {w}.', '¿Cuándo corrió {p} la media maratón?'],
    ['Doné sangre {w}.', '¿Cuándo donó sangre {p}?'],
    ['Aprobé el examen {w}.', '¿Cuándo aprobó {p} el examen?'],
    ['Adopté un gato {w}.', '¿Cuándo adoptó {p} un gato?'],
  ],
  asks_on: '¿Qué le pasó a {p} {w}?',
  changing: [
    {
      says: 'Vivo en {v}.',
      says_again: 'Me he mudado y ahora vivo en {v}.',
      asks: '¿Dónde vive {p}?',
      values: list('Burgos; Valencia; Oviedo; Granada; Toledo; Cáceres'),
    },
    {
      says: 'Mi despacho es la sala {v}.',
      says_again: 'Desde hoy mi despacho es la sala {v}.',
      asks: '¿En qué sala está el despacho de {p}?',
      values: ROOMS,
    },
    {
      says: 'Mi número de teléfono termina en {v}.',
      says_again: 'Tengo un número de teléfono nuevo, que termina en {v}.',
      asks: '¿En qué cifras termina el número de teléfono de {p}?',
      values: DIGITS,
    },
    {
      says: 'Voy al trabajo {v}.',
      says_again: 'Ahora voy al trabajo {v}.',
      asks: '¿Cómo va {p} al trabajo?',
      values: list('en bicicleta; en autobús; en tranvía; en coche; en barco; a pie'),
    },
  ],
  small_talk: [
    'Lleva días nublado.',
    'Hoy tengo mucho sueño.',
    '¿Tienes tiempo el jueves?',
    'Tenemos que cenar juntos pronto.',
    'El autobús llegó tarde otra vez.',
    'He olvidado el paraguas otra vez.',
    'Gracias, me alegro mucho.',
    'Los vecinos están de fiesta otra vez.',
    'Aquí todo está muy tranquilo.',
    'La reunión duró horas.',
    'He cocinado demasiado.',
    'Suena de maravilla.',
    'Mi abuela me mandó una tarjeta.',
    'Mi móvil está casi sin batería.',
    'La calefacción no funciona.',
    'He dormido mal.',
    'El domingo hay mercado en el centro.',
    'Cuéntame más luego.',
    'Todavía tengo que hacer la compra.',
    'Están levantando la calle otra vez.',
    'Anoche jugamos a las cartas.',
    'Tengo ganas de que llegue el fin de semana.',
  ],
}
