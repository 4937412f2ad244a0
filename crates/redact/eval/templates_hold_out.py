"""Templates of the hold-out, written before any of its notes was generated; never tuned on."""

TEXT = [
    "Nephrology consult for {name} ({mrn}), admitted {date} from {city}. Creatinine 3.4, urine output falling. Avoid contrast. Family meeting with {relative} tomorrow. {doctor}",
    "Dear {relative},\n\nWe regret to inform you that {name} died on {date}. The certificate will be sent to {address}.\n\nWith sympathy,\n{nurse}",
    "Triage: {last}, {first}. Lives at {street}, {city}. Stung by a wasp, lips swollen. Adrenaline given at 15:05. Observed for six hours. Mother {relative_first} present.",
    "Weight clinic. {first} lost 6 kg since {date}. Walks daily with {relative_first}. Next goal 95 kg. Phone review by {nurse} on {phone}.",
    "Hand surgery report. Surgeon {doctor}, anesthetist {nurse}. Carpal tunnel released on the right. Patient {name}, born {dob}. Stitches out in {city}.",
    "Return the glucose meter {device} to {street}, {zip} {city}, care of {relative}.",
    "Police wish to interview {name} of {city} about the crash of {date}; plate {plate}, licence {licence}. {doctor_last} says not before Monday.",
    "Patient transport: collect {last} at {address}, bring to Regional Hospital, ward B. Companion: {relative}. Stretcher, oxygen 3 L.",
    "Antenatal booking: {name}, {dob}, lives with {relative} in {city}. First pregnancy. Folic acid started. Scan {date}. Midwife {nurse}, {phone}.",
    "Infection control: contact of {first} {last} traced, {relative} ({street}) and {relative_first}. Both vaccinated, no symptoms.",
    "Audiology: {last} hears well with the new aids. Batteries by post to {address}. Bill {account}, policy {plan}.",
    "Message for {doctor_last} from {relative} ({email}): {first} has a rash again. Call {spoken_phone}. Photo {hidden}.",
    "{name} turned {old_age} years old last week. Party at the home with {relative_first}, {relative} and the nurses. Ate cake. BP 128/70.",
    "Liver transplant list: {name}, SSN {ssn}, from {city}. MELD 24. Coordinator {nurse}. Next of kin {relative}, {street}, {city}.",
    "Login from {ip} to {url} by {nurse}; record of {last} opened {date}. Case {case}. Car of the visitor: VIN {vin}.",
    "Stroke follow-up. {first} speaks in short sentences, right arm weak. {relative} has moved from {city} to help. Aspirin and atorvastatin continued. Fax letter to {fax}.",
    "Room {room}: {last} fell out of bed at 04:20, no injury. {doctor_last} examined. {relative_first} informed by phone.",
    "Insulin teaching with interpreter {nurse}. {first} comes from {city} and understands little English. {relative_first}, the daughter, will inject. Needles sent to {street}.",
]

JSON = [
    {"patient": {"full": "{name}", "dob": "{dob}", "street": "{street}", "city": "{city}"}, "seen_by": "{doctor}", "summary": "Tonsillitis, penicillin for ten days"},
    {"alert": "{first} left the ward at 10:15 with {relative}.", "ward": "Geriatrics", "reported_by": "{nurse}", "callback": "{phone}"},
    {"parcel": {"for": "{name}", "address": "{address}"}, "content": "Catheters, 30 pieces", "ref": "{case}"},
    {"family": [{"relation": "wife", "name": "{relative}"}, {"relation": "son", "name": "{relative_first}"}], "origin": "{city}", "mrn": "{mrn}"},
]
