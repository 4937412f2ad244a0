"""Templates of the hold-out, written before any of its notes was generated; never tuned on."""

TEXT = [
    "Discharge letter\n\n{doctor}\nDepartment of Cardiology\n\nPatient: {name}\nBorn: {dob}\nResident at: {address}\n\nDiagnoses: Atrial fibrillation, chronic kidney disease stage 3. The patient was admitted on {date} with palpitations. Rate control with bisoprolol 2.5 mg was sufficient. We started apixaban 5 mg twice daily.\n\nYours faithfully,\n{nurse}",
    "Pre-op check: {name}, {case}. Consent signed by {relative} (legal guardian). Fasting since midnight. Allergies: latex. Weight 68 kg. Reachable on {phone}.",
    "SOAP\nS: {first} complains of burning epigastric pain after meals. O: Abdomen soft, mild tenderness. A: Gastritis. P: Pantoprazole 40 mg before breakfast, avoid ibuprofen. Recheck {date}. Copy to Dr. {doctor_last}, fax {fax}.",
    "Ambulance was called to {street}, {city}. On arrival {name} was unresponsive, pulse 38. Atropine given. {relative_first}, who made the call, rode along. MRN {mrn}.",
    "Change of address received {date}: {name} now lives at {address}. Member number {plan} unchanged. Please update the pharmacy.",
    "Night shift: {last} restless until 0300, then slept. Blood sugar 142. {relative} stayed until visiting hours ended. Bed {room}. Signed {nurse}.",
    "Genetics clinic. {first} {last} and her sister {relative_first} both carry the variant. Family comes from {city}. Counselled about screening. Sample {case} stored.",
    "Dear Dr. {doctor_last},\nThank you for referring {name} ({dob}), whom I saw on {date}. Hearing loss is bilateral and symmetric. A hearing aid, {device}, was fitted. Please write to {email} if anything is unclear.\n{doctor}",
    "Dietitian: {relative_first} cooks for the household in {city}. {first} avoids salt and drinks 1.5 L a day. Goal: lose 4 kg by {date}.",
    "INVOICE to {relative}\n{street}\n{zip} {city}\nService: Dental extraction, two molars. Account {account}. Due {date}.",
    "Dialysis unit. Patient {last}, {first}. Access: left arm fistula, good thrill. Dry weight 71.5 kg. Transport from {street} arranged with {nurse}. Emergency number {phone}.",
    "Police brought {name} from {city} after a collision; plate {plate}. Licence {licence} was shown. Cervical spine cleared. Laceration of the forehead closed with six stitches.",
    "Eye clinic follow-up. Pressure 18 and 19. {last} uses latanoprost nightly. Next field test {date} with {doctor}. Patient asked that letters go to {address}.",
    "Child protection note: {relative_first} ({relative}) is the foster carer, {street}, {city}. School informed. {first} is thriving; immunisations complete.",
    "Clinical trial screening: {name}, {old_age} years, from {city}. SSN {ssn}. Excluded because of low platelets. Coordinator {nurse}, {email}.",
    "Chart of {name} accessed from {ip} on {date}; see {url}. No change was made. Reported to {doctor}.",
    "Prosthetics: socket adjusted, liner replaced, serial {device}. {first} walked 200 m without pain. He returns to {city} by train.",
    "Obituary notice was sent to {relative}, {zip} {city}. {name} died peacefully on {date}. Cause of death: Metastatic colon cancer.",
    "Asthma review: {first} has used the inhaler daily. Peak flow 380. Mother, {relative}, smokes outside. They are moving to {city} in spring.",
    "Lives with partner {relative} at {street} ({zip} {city}). Works as a bus driver; VIN of the bus {vin}. Sleep study showed moderate apnea.",
    "Please ring {relative_first} on {phone}, or write: {address}. Fracture clinic, week 6: callus visible, cast off, start physiotherapy.",
    "Call log. 09:10 {nurse} spoke with {relative}. 09:40 {doctor_last} informed. Number dictated as {spoken_phone}. Attachment {hidden}.",
]

JSON = [
    {"Patient": {"name": [{"given": ["{first}"], "family": "{last}"}], "telecom": [{"system": "phone", "value": "{phone}"}], "address": [{"line": ["{street}"], "city": "{city}", "postalCode": "{zip}"}], "birthDate": "{dob}"}},
    {"ward": "Surgery", "bed": "{room}", "patient": "{last}, {first}", "team": ["{doctor}", "{nurse}"], "plan": "Remove drain tomorrow, soft diet."},
    {"id": "{case}", "summary": "{name} called about a rash after amoxicillin. Advised cetirizine.", "callback": "{phone}", "where": "{city}", "next_of_kin": "{relative}"},
    {"invoice": {"to": "{name}", "mailing_address": "{address}", "account": "{account}", "lines": [{"text": "Physiotherapy, six sessions", "amount": 240}]}},
    {"events": [{"by": "{nurse}", "what": "Gave paracetamol 1 g"}, {"by": "{doctor}", "what": "Reviewed {last}, stable"}], "ssn": "{ssn}", "visitor": "{relative} from {city}"},
]
