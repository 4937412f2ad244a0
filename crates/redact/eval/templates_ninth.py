"""Templates of the ninth hold-out, opened since: letters, dictation, chat, forms, lists, e-mails and bad scans."""

TEXT = [
    # Letters.
    "{date}\n\nDear Dr {doctor_last},\n\nMany thanks for sending me {name}, whom I reviewed in the gastroenterology clinic this morning. The main complaint is bloating after meals, with alternating constipation and diarrhoea for eight months. Coeliac serology is negative and calprotectin is normal. I have explained the low FODMAP diet and given {first} a leaflet. No follow up is planned.\n\nYours sincerely\n\n{doctor}\nConsultant Gastroenterologist",
    "DISCHARGE LETTER\nPatient: {name}     Date of birth: {dob}\nHome address: {address}\nHospital number: {mrn}\n\nThis patient was admitted with cellulitis of the left lower leg. Intravenous flucloxacillin was given for three days and changed to tablets on {date}. The erythema has receded well inside the marked line. Discharged to the care of {relative}, who was shown how to elevate the limb. District nurse {nurse} will inspect the leg on alternate days.",
    "To the parents of {first} {last}\n{street}\n{zip} {city}\n\nThe hearing test at school on {date} suggests a mild loss on the right. This is common after a cold. Please ring {phone} for a second test. With kind regards, {nurse}, audiology",
    "I am writing in support of {name}, who has applied for a parking badge. The applicant suffers from severe osteoarthritis of both hips and cannot walk further than thirty metres without rest. I have known the family since they settled in {city}. Should you need more, my secretary {relative} can be reached at {email} or {phone}. {doctor}",
    # Dictation without punctuation.
    "this is doctor {doctor|lower} dictating on {first|lower} {last|lower} the patient came in today with a sore throat and a fever of three days tonsils are enlarged with exudate rapid strep is positive plan is amoxicillin for ten days and return if not better",
    "next letter please to mister {last|lower} of {street|lower} in {city|lower} the biopsy of the mole on the back was benign no further treatment is required the stitches may come out after two weeks thank you",
    "follow up visit for {name|lower} accompanied by her husband {relative_first|lower} she is now twelve weeks after the stroke speech is improving right arm still weak continue aspirin and physiotherapy the couple will move to {city|lower} in spring",
    "Dictated but not read. Patient {last} comma {first} was seen for review of his epilepsy period He had two seizures since we met period I increased the levetiracetam and asked {nurse} to arrange a blood level period",
    # Chat and messages.
    "[09:14] {nurse}: morning, is {last} still on 2L?\n[09:16] {doctor}: weaned to room air overnight, sats 95\n[09:17] {nurse}: ok. the brother {relative_first} wants an update, his number is {phone}\n[09:20] {doctor}: will call after rounds",
    "hi team, can someone chase the bloods for {first|lower}? also {relative|lower} rang again about transport back to {city|lower}. thx",
    "SMS to {phone}: Hello {first}, your appointment with {doctor_last} is moved to {date}. Reply YES to confirm.",
    "@{nurse} pls tell {relative} that visiting is over at eight. {last} needs to sleep, heart rate was 130 when they argued",
    # Forms.
    "ADMISSION FORM\nSurname ........ {last}\nForename ....... {first}\nBorn ........... {dob}\nLives at ....... {street}\nPost town ...... {city}\nPost code ...... {zip}\nNearest relative {relative}\nTel ............ {phone}\nAllergic to .... Shellfish, latex\nDiet ........... Soft",
    "1. Full name of child: {name}\n2. Place of birth: {city}\n3. Present address: {address}\n4. Name of guardian: {relative}\n5. Illnesses: Measles, recurrent otitis media\n6. Vaccinated: Yes, last dose {date}\n7. Signed: {nurse}",
    "CLIENT: {last}, {first}   ID: {case}\nWORKER: {nurse}\nTYPE OF CONTACT: Home visit\nWHERE: {street}, {city}\nPRESENT: Client, {relative_first}, worker\nMOOD: Flat\nRISK: Low, denies plans to harm self\nNEXT: {date}",
    "Insurance no. | {plan}\nHolder        | {relative}\nInsured       | {name}\nSince         | {date}\nBank          | {account}\nCovers        | Dentures, spectacles, hearing aids",
    "TRANSPORT REQUEST\nfrom: {address}\nto: Dialysis Centre\npassenger: {last} ({old_age} years)\nmobility: Stretcher, oxygen\ncontact: {relative} {phone}",
    # Lists.
    "Ward list\n{room} {last}, {first}: hip day 3, mobilise\n{room} {relative}: pneumonia, switch to oral antibiotics\n{room} {nurse}: awaiting placement in {city}\nEmpty beds: two",
    "Theatre list {date}\n1) {name} - hernia repair, mesh - {doctor_last}\n2) {relative} - varicose veins - {doctor_last}\n3) cancelled, patient ate breakfast",
    "- Blood taken by {nurse}\n- Results to {doctor}\n- Letter to {name}, {street}, {zip} {city}\n- Bill to {account}\n- Sample {case} in freezer",
    "Attendees: {doctor} (chair), {nurse}, {relative_first} {last} (carer), pharmacist. Apologies: {relative}. Item 1: falls on the ward rose by a third. Item 2: {first} has gone home to {city}.",
    # E-mails.
    "From: {doctor} <{email}>\nTo: {nurse}\nSubject: {last}, abnormal potassium\n\nCould you please repeat the potassium on {first}? It was 6.1 on {date}, haemolysed I think. If still high give calcium gluconate and call me on {phone}.\n\nBest\n{doctor_last}",
    "Subject: complaint\n\nMy name is {relative} and I write about my mother {name}. She waited nine hours on a trolley with a broken wrist. We drove from {city} and nobody offered her water. I expect an answer at {email} or by post at {address}.",
    "Hello,\nI lost my glasses when I was on your ward (bed {room}). If they turn up please send them to {street}, {city} {zip}.\nMany thanks\n{first} {last}\n{phone}",
    "Fwd: rota\n{nurse} swaps Sunday with {relative_first}. {doctor_last} is on leave until {date}; for urgent scans ask {doctor}. Keys are in the drawer.",
    # Scans with broken lines.
    "Re: {name|break}\nof {address|break}\nDiagnosis: chronic obstruc-\ntive pulmonary disease, exacer-\nbation due to influenza. Pred-\nnisolone 30 mg for five days.\nSeen by {doctor|break}",
    "PATlENT NAME : {name|upper}\nADDRE55 : {street|upper}\n{city|upper}\nDATE 0F BlRTH : {dob}\nEXAM : MRl LUMBAR SPlNE\nFlNDlNGS : DlSC PROTRUSlON L4/5 WlTHOUT NERVE ROOT COMPRESSlON\nREFERRED BY : {doctor|upper}",
    "the undersigned {doctor} certifies that\n{name}, resident in {city},\nhas been vaccinated against rabies on\n{date}\nand is fit to travel\nLicence {licence}",
    # Narrative.
    "Seen by the night doctor because {last} had fallen out of bed again. There is a graze on the elbow; the pupils are equal. {relative} was told by telephone ({phone}) and did not wish to come in. Neurological observations hourly until breakfast.",
    "Born in {city}, {first} grew up with an aunt, {relative}, after both parents died. Worked as a welder. Two divorces. Heavy drinking started at thirty. Has tried detoxification in {city} and here. Liver is palpable four fingers below the margin.",
    "The cab with the number {plate} was found outside {street}. Its driver, {name}, was slumped over the wheel with a glucose of 1.9. After dextrose he knew his name and asked for {relative_first}. Licence {licence} handed to security.",
    "Genetic counselling: {relative_first}, the aunt, and {first} carry the deletion; {relative} in {city} has not been tested. Colonoscopy every two years is advised. Samples under {case}. Portal {url}, opened from {ip}.",
    "Insulin pump {device} alarmed twice. {first} changed the reservoir with help from {relative_first}. Ketones 0.4. {nurse} phoned the maker. SSN {ssn} on the warranty card. {spoken_phone} is the hotline.",
    "Deceased: {name}, aged {old_age}. Found by neighbour {relative} at {address}. Last seen alive {date}. Rigor established. No sign of injury. Coroner informed by {doctor}. Car {vin} to be collected. {hidden}",
]

JSON = [
    {"resourceType": "Patient", "name": [{"family": "{last}", "given": ["{first}"]}], "birthDate": "{dob}", "address": [{"line": ["{street}"], "city": "{city}", "postalCode": "{zip}"}], "telecom": [{"system": "phone", "value": "{phone}"}]},
    {"visit": {"carer": "{nurse}", "client": "{name}", "report": "Washed and dressed. {relative_first} had already made breakfast. Catheter draining clear urine. Key returned to {street}, {city}."}, "minutes": 35},
    {"thread": [{"sender": "{doctor}", "text": "Any news on {last}?"}, {"sender": "{nurse}", "text": "Biopsy is back, benign. I told {relative} in {city}."}]},
    {"order": "Wheelchair, narrow", "deliver_to": "{address}", "recipient": "{relative}", "ring": "{phone}", "note": "Leave with {relative_first} if {first} sleeps"},
    {"subject": "Complaint about parking", "body": "I am {name} of {street}, {city}. My car ({plate}) was clamped while I visited {relative}. Answer to {email}."},
    {"id": "{mrn}", "who": "{last}, {first}", "seen": "{date}", "by": "{doctor}", "findings": ["Clubbing of the fingers", "Fine crackles at both bases"], "address_line": "{street}"},
]
