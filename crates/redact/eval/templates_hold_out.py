"""Templates of the hold-out, written before any of its notes was generated; never tuned on."""

TEXT = [
    "Admission note {date}. {name}, MRN {mrn}, was brought from {city} by her brother {relative}. Complaint: Fever and productive cough for four days. Lungs with coarse crackles on the right. Impression: Lobar pneumonia. Ceftriaxone started.",
    "To: {name}\n{address}\n\nDear {first},\n\nYour cervical smear was normal. We will invite you again in three years. To change the appointment call {phone}.\n\nWith kind regards,\n{nurse}",
    "Memory clinic. {last} scored 21 of 30. His daughter {relative_first} reports that he got lost on the way home to {street}. Started donepezil 5 mg. Driving licence {licence} to be surrendered.",
    "Handover: Room {room} {name}, day 3 after hip fracture, needs two to transfer. Room next door quiet. {doctor_last} wants hemoglobin in the morning. Family from {city} visiting at noon.",
    "Birth record: girl, 3250 g, Apgar 9 and 10, born {date} to {name} of {street}, {city}. Midwife {nurse}. Father {relative}. Vitamin K given.",
    "Complaint {case}: {relative} writes that nobody answered {phone} for two days. Reply to {email} or by post to {address}. Manager {doctor}.",
    "Wound care at home ({street}, {zip} {city}). Ulcer 3 cm, granulating. {first} keeps the leg raised. Next visit {date}; key with neighbour {relative}.",
    "Endoscopy report. Patient: {last}, {first}. Date of birth: {dob}. Endoscopist: {doctor}. Findings: Hiatal hernia, mild esophagitis. Biopsies taken. Scope number {device}.",
    "{name} phoned {date} at 16:20: dizzy since the new tablet. BP at home 95/60. {doctor_last} advised to halve the dose of ramipril. Insured under {plan}.",
    "Occupational health: {first} drives a van (plate {plate}) for a firm in {city}. Vision 6/6 both eyes. Fit for work. Certificate sent to {relative} at {email}.",
    "Palliative team met {relative_first}, {relative} and {nurse}. {name} prefers to stay at {street}. Midazolam and morphine are in the house.",
    "Transfer summary\nFrom: Regional Hospital, {city}\nTo: Nursing home, {address}\nPatient: {name}, SSN {ssn}\nMedication: Metoprolol 50 mg, simvastatin 20 mg, aspirin 81 mg\nMobility: Walks with frame",
    "Tele-dermatology: pictures uploaded from {ip}, see {url}. {first}, {old_age} years, has a pigmented lesion on the back. Excision planned {date} by {doctor}.",
    "Insurer asked for records of {name} (policy {plan}, account {account}). Consent on file. Sent by fax {fax} on {date}.",
    "Speech therapy: {last} swallows thickened fluids safely. Wife {relative} trained. They live in {city}, near the river.",
    "Toxicology: {name}, found in a car with VIN {vin}, carbon monoxide 28%. Oxygen given, symptoms resolved. Discharged to {relative_first}.",
    "Social history: Born in {city}, moved to {city} at age 12. Widower. Son {relative} lives at {address}. No tobacco, wine at weekends.",
    "Return receipt. Sender: {doctor}, {street}, {zip} {city}. Content: Slides and report of {name}.",
    "Audio memo: tell {relative_first} that {first} is ready to go home. The number is {spoken_phone}. Code {hidden}.",
    "{nurse} called {relative} in {city}. Mrs. {last} has improved: no pain, eating well, potassium 4.0. Discharge {date}.",
    "Travel clinic\nName: {name}\nStreet: {street}\nCity: {city}\nPostcode: {zip}\nDestination: Tropical region, four weeks\nVaccines: Typhoid, hepatitis A\nDoctor: {doctor_last}",
    "Seizure diary of {first} {last}: two events in March, none since levetiracetam was raised. {relative}, his mother, keeps the diary. Contact {phone}.",
]

JSON = [
    {"patientName": "{name}", "dateOfBirth": "{dob}", "homeAddress": {"line1": "{street}", "town": "{city}", "postcode": "{zip}"}, "gp": "{doctor}", "problem": "Gout, right great toe"},
    {"task": "Call {relative} back", "owner": "{nurse}", "due": "{date}", "details": "{first} from {city} wants the result of the thyroid test.", "phone": "{phone}"},
    {"rows": [["{name}", "{mrn}", "{city}"], ["{relative}", "visitor", "{phone}"]], "ward": "Maternity"},
    {"report": {"author": "{doctor}", "text": "Knee effusion aspirated, 30 mL. {last} tolerated it well.", "cc": ["{nurse}", "{relative}"]}, "ref": "{case}"},
    {"delivery": {"recipient": "{relative}", "to": "{address}", "item": "Oxygen concentrator", "serial": "{device}"}, "emergency_contact": "{relative}"},
]
