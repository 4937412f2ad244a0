//! Words whose presence says something about their neighbours, in the languages of the locales
//! that records come from. Written in small letters without marks, as folded text is.

use super::{
    CREDENTIAL, DATE_CUE, DIGIT_WORD, FILLER, FUNCTION, Flag, INSTITUTION, MAYBE_LABEL, MONTH,
    NAME_LABEL, NUMBER_WORD, PARTICLE, PERSON, PERSON_VERB, PERSONAL, PLACE_CUE, PLACE_LABEL,
    RELATION, ROOM, SAFE, STATE, STREET, STREET_FIRST, TITLE, TOWN_FIRST, UNIT, WEEKDAY,
};

pub(super) const CUES: &[(&str, Flag)] = &[
    (
        "wishes wants reports reported denies denied states stated says said lives tolerated slept sleeps ambulated \
      ambulates feels complains complained refuses refused agrees agreed uses asked asks told tells called \
      verbalized verbalizes presents presented understands understood authorised authorized authorises \
      authorizes insists insisted phoned rang thinks hopes hoped knows believes will who eats ate drinks drank \
      walks walked drove drives visited wrote writes enjoys likes attends expressed expresses declines admits \
      admitted requests requested cooks smokes smoked stayed stays helps helped tolerates prefers preferred \
      manages rides shops carries scored spoke speaks met arrived promised apologised apologized cried laughed \
      wept sat swallows recalls remembers forgot forgets misses loves hates fears worries worried suspects \
      accepts accepted attended joined resides worked retired immigrated emigrated emailed texted",
        PERSONAL,
    ),
    (
        "a an and are as at be been but by can could did do does doing done down for from had has have he her \
      him his how i if in into is it its just like may me might more most much must my no none nor not of off \
      on once only or our out over per she should since so some such than that the their them then there \
      these they this those through to too under until up very via was we were what when where which while \
      who whom why will with within without would yes you your also am any because before after again all \
      each few both now here own same other both during between about above below further against being \
      having himself herself itself themselves",
        FUNCTION | SAFE,
    ),
    (
        "s t ll re ve d m don doesn didn isn wasn aren weren hasn haven hadn wouldn couldn shouldn won shan",
        SAFE,
    ),
    (
        "january february march april may june july august september october november december jan feb mar apr \
      jun jul aug sep sept oct nov dec januar februar marz maerz mai juni juli oktober dezember okt dez \
      janvier fevrier mars avril juin juillet aout septembre octobre novembre decembre janv fevr avr juil \
      enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre noviembre diciembre ene \
      abr ago dic janeiro fevereiro marco maio junho julho setembro outubro novembro dezembro fev set out \
      gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre gen mag giu lug ott \
      januari februari maart augustus mrt mei maj augusti stycznia lutego marca kwietnia maja czerwca lipca \
      sierpnia wrzesnia pazdziernika listopada grudnia ocak subat mart nisan mayis haziran temmuz agustos \
      eylul ekim kasim aralik enero tammikuuta",
        MONTH,
    ),
    (
        "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun",
        WEEKDAY | SAFE,
    ),
    (
        "dr mr mrs ms miss mx mister missus prof professor doctor sir madam dame nurse rev reverend fr hon capt sgt sra srta \
      senor senora don dona herr frau mme mlle monsieur madame sig sigra signor signora dott dottssa dhr mevr \
      mw pan pani bay bayan hr fru shri smt kumari engr atty",
        TITLE | SAFE,
    ),
    (
        "van von der den de del della di da dos das do du la las le los el al bin bint ibn ter ten te zu zum af av \
      st san santa y e i dal degli delle lo",
        PARTICLE,
    ),
    (
        "wife husband son daughter mother father sister brother spouse partner friend neighbor neighbour aunt uncle \
      niece nephew cousin grandson granddaughter grandmother grandfather caregiver carer fiance fiancee \
      roommate boyfriend girlfriend mom dad mum guardian stepson stepdaughter kin proxy employer boss \
      landlord colleague coworker",
        RELATION | SAFE,
    ),
    (
        "utca ter ut utja tere kuja katu prospekti kucesi nabrezie street road avenue lane drive boulevard court place square terrace way crescent close highway parkway \
      circle trail loop plaza alley grove gardens mews rd ave blvd ln ct pl sq hwy pkwy cir trl expressway \
      turnpike bypass crossing station burg burgs ridge views mount mountain island islands mall manor \
      meadow meadows mill mills mission motorway nagar marg chowk extension ext barangay village estate \
      estates heights hill hills isle junction key keys knoll knolls landing light lights lodge lock locks \
      neck orchard oval overpass park parks pass passage path pike pine pines plain plains point points port \
      ports prairie radial ramp ranch rapid rapids rest river roads route row rue run shoal shoals shore \
      shores skyway spring springs spur spurs squares stravenue stream summit throughway trace track \
      trafficway tunnel underpass union unions valley valleys via viaduct view ville vista walk walks wall \
      ways well wells wharf yard cliff cliffs club common commons corner corners course cove coves creek \
      crest crossroad curve dale dam divide drives falls ferry field fields flat flats ford fords forest \
      forge forges fork forks fort freeway garden gateway glen glens green greens groves harbor harbors \
      haven inlet brook brooks bridge branch bluff bluffs bottom bayou beach bend center centers causeway \
      camp canyon cape",
        STREET,
    ),
    (
        "barrio residencial fraccionamiento quartier cite lotissement mahalla mohalla kampung lorong lebuh soi thanon rruga trg ulice namesti avenue estrada rambla setor nucleo alameda ladeira conjunto jardim vila colonia urbanizacion jalan gang gg jl carrera cra transversal cl dg tr rue calle via viale corso piazza vicolo strada avenida avda av rua travessa ulica ul aleja al plac pl \
      osiedle os boulevard impasse allee chemin quai place prolongacion calzada andador callejon privada \
      cerrada retorno circuito eje peatonal diagonal viaducto ampliacion periferico cesta camino carrer \
      paseo ronda plaza glorieta pasaje cuesta contrada borgo rotonda incrocio stretto canale lungomare cadde \
      caddesi sokak sokagi mahalle mahallesi bulvari",
        STREET_FIRST,
    ),
    (
        "mg mcg ug g kg gm gram grams ml l dl cc liter liters litre litres unit units iu meq mmol mmhg bpm cm mm m \
      ft feet foot inch inches lb lbs pound pounds oz kcal cal calories hz khz hr hrs hour hours min mins \
      minute minutes sec secs second seconds day days week weeks wk wks month months mo mos year years yr yrs \
      yo time times tablet tablets tab tabs capsule capsules cap caps drop drops puff puffs dose doses pack \
      packs percent degrees degree c f beats breaths x ng pg umol nmol mosm cells copies ppm steps cigarettes \
      drinks french gauge ga joules mgy msv rads watts kpa torr weekly daily bid tid qid",
        UNIT | SAFE,
    ),
    (
        "zero one two three four five six seven eight nine oh nought double triple",
        DIGIT_WORD | SAFE,
    ),
    (
        "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty \
      sixty seventy eighty ninety hundred thousand first second third fourth fifth sixth seventh eighth ninth \
      tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth \
      twentieth thirtieth",
        NUMBER_WORD | SAFE,
    ),
    (
        "section sector parcel plot villa stand studio level room rm bed ward floor bay suite ste apt apartment flat unit cubicle bldg building box lot block house \
      door hall corridor wing cabin locker",
        ROOM | SAFE,
    ),
    (
        "alabama alaska arizona arkansas california colorado connecticut delaware florida georgia hawaii idaho \
      illinois indiana iowa kansas kentucky louisiana maine maryland massachusetts michigan minnesota \
      mississippi missouri montana nebraska nevada ohio oklahoma oregon pennsylvania tennessee texas utah \
      vermont virginia washington wisconsin wyoming",
        STATE | SAFE,
    ),
    (
        "point cape mount la le les ile mont lac baie val new north south east west port lake san santa saint st fort mount el los las great little upper lower \
      old sankt bad store le nueva nuevo vieja viejo nova saint sainte villa ciudad puerto",
        TOWN_FIRST,
    ),
    (
        "patient pt resident client name names attending provider physician surgeon clinician author signed \
      dictated reviewed cosigned contact guardian caller informant subject member subscriber insured \
      beneficiary holder interpreter therapist pcp consultant requester requested ordering referring from to \
      cc attn re dear driver hi hello regards sincerely by with and named called surname lastname firstname \
      midwife insurer manager chaplain optician dietitian scribe coordinator assistant pharmacist dentist \
      forename given family maiden aka alias spoke told per via witness nok",
        PERSON,
    ),
    (
        "reports reported states stated denies denied presents presented complains complained is was has had says \
      said notes noted called calls admits admitted requests requested came went arrived feels felt lives \
      lived asked asks wants agrees agreed appears seems remains continues tolerated tolerates refused \
      refuses returned underwent received takes took describes described endorses endorsed will would can \
      ambulates ambulated verbalized verbalizes slept ate sat did does should phoned visited brought drove \
      accompanied confirmed confirms wrote wishes wished wants wanted moved lies needs needed uses used likes \
      tells gave gives made makes plays enjoys attends attended comes goes left sleeps eats drinks walks works \
      worked shared expressed expresses understands understood knows believes thinks hopes hoped declines \
      declined drank fell stays stayed",
        PERSON_VERB,
    ),
    (
        "number numbers no num nr id ids is was are of the code identifier ref reference on file as and or his \
      her their your our assigned listed issued under ending",
        FILLER,
    ),
    (
        "lives living lived resides residing resided reside address city cities towns town village county moved relocated born \
      raised hometown located commutes traveled travelled visiting staying moving native from in near to of \
      outside",
        PLACE_CUE,
    ),
    (
        "clinic hospital center centre infirmary hospice school university college church pharmacy academy \
      institute laboratory laboratories",
        INSTITUTION | SAFE,
    ),
    (
        "on since from until till by dated date dob due admitted discharged seen visit born effective expires \
      expired starting started ending ended between before after scheduled appointment returns return visited \
      last next of",
        DATE_CUE,
    ),
    (
        "md do rn np pa lpn phd dds dmd pharmd dpm msw lcsw pt ot rd cna facp facs mbbs frcp dnp aprn crna psyd \
      jr sr ii iii iv",
        CREDENTIAL | SAFE,
    ),
    (
        "addr address adress birthplace city commune district domicile hometown lives locality \
      municipality parish postal postcode residence resides residing street suburb town village zip \
      zipcode",
        PLACE_LABEL,
    ),
    (
        "at born code collect correspondence county deliver delivery destination drop from home house \
      line living location mail mailing moved origin pick pickup place post region road route ship \
      site stop stops to where",
        MAYBE_LABEL,
    ),
    (
        "alias anaesthetist anesthetist apologies assistant attendees attn author beneficiary brother by \
      caller caregiver carer cc chaplain clerk client clinician companion concerning consultant \
      contact coordinator counsellor counselor daughter dentist dietitian doctor driver employee \
      escort family father firstname forename forenames fullname given gp guardian holder husband \
      informant insured interpreter keeper kin lastname maiden member midwife mother name names nee \
      neighbor neighbour nurse officer operator owner parent parents partner passenger pathologist \
      patient pcp pharmacist physician practitioner prescriber present provider psychologist \
      radiologist re recipient relative requester resident reviewer secretary sender signature signed \
      sister son spouse subscriber supervisor surgeon surname technician tenant therapist visitor who \
      wife witness worker",
        NAME_LABEL,
    ),
];
